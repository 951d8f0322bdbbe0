/** A uPlot of lines without any text in its canvas: ticks, names and marks are elements around it. */
import uPlot from "uplot";
import type { Lines } from "./contract";
import { number } from "./numbers";

export interface Tick {
  at: number;
  text: string;
}

/** What stands around the plot, in pixels from its left and top. */
export interface Around {
  x: Tick[];
  y: Tick[];
  marks: { name: string; left: number | null; top: number | null }[];
}

export interface Look {
  width: number;
  height: number;
  colours: string[];
  rule: string;
  ink: string;
}

export interface Tell {
  ready: (drawn: uPlot) => void;
  around: (around: Around) => void;
  hover: (index: number | null) => void;
}

export function plot(target: HTMLElement, lines: Lines, look: Look, tell: Tell): uPlot {
  // a smooth wave has points between positions too: only what is at a position is marked
  const whole = lines.x.flatMap((x, i) => (Number.isInteger(x) ? [i] : []));
  const marked = whole.length <= 40;
  const bare = { values: () => [], size: 0, gap: 0, grid: { stroke: look.rule, width: 1 }, ticks: { show: false } };
  const many = look.colours.length;
  const options: uPlot.Options = {
    width: look.width,
    height: look.height,
    padding: [6, 6, 0, 0],
    legend: { show: false },
    cursor: { drag: { x: false, y: false }, y: false, points: { size: 7 } },
    scales: { x: { time: false }, y: { distr: lines.y_axis.log ? 3 : 1, range: around(lines) } },
    axes: [
      { ...bare, space: 56 },
      { ...bare, space: 28 },
    ],
    series: [
      {},
      ...lines.lines.map((line, i) => ({
        label: line.name,
        stroke: look.colours[i % many],
        width: 2,
        // a second round of the colours is told apart by its dashes
        dash: i >= many ? [6, 4] : undefined,
        points: { show: marked, size: 5, filter: (_u: uPlot, _series: number, show: boolean) => (show ? whole : null) },
      })),
    ],
    hooks: {
      ready: [tell.ready],
      draw: [
        (u) => {
          strokeMarks(u, lines, look.ink);
          tell.around(surroundings(u, lines));
        },
      ],
      setCursor: [(u) => u.cursor.event && tell.hover(u.cursor.idx ?? null)],
    },
  };
  const data = [lines.x, ...lines.lines.map((line) => line.y)] as uPlot.AlignedData;
  const made = new uPlot(options, data, target);
  made.root.setAttribute("aria-hidden", "true");
  return made;
}

/** The range of y: all lines and marks, with some room; a log axis has only what is above 0. */
function around(lines: Lines): uPlot.Range.MinMax {
  const log = lines.y_axis.log;
  const values = [...lines.lines.flatMap((line) => line.y), ...lines.marks.map((mark) => mark.y)];
  const finite = values.filter((y): y is number => y !== null && Number.isFinite(y) && (!log || y > 0));
  if (!finite.length) return log ? [1, 10] : [-1, 1];
  const least = finite.reduce((a, b) => Math.min(a, b));
  const most = finite.reduce((a, b) => Math.max(a, b));
  if (log) return [least / 1.3, most * 1.3];
  const room = (most - least || Math.abs(most) || 1) * 0.05;
  return [least - room, most + room];
}

function strokeMarks(u: uPlot, lines: Lines, ink: string): void {
  const { left, top, width, height } = u.bbox;
  u.ctx.save();
  u.ctx.strokeStyle = ink;
  u.ctx.lineWidth = devicePixelRatio;
  u.ctx.setLineDash([4 * devicePixelRatio, 4 * devicePixelRatio]);
  u.ctx.beginPath();
  for (const mark of lines.marks) {
    if (mark.y !== null) {
      const y = u.valToPos(mark.y, "y", true);
      u.ctx.moveTo(left, y);
      u.ctx.lineTo(left + width, y);
    }
    if (mark.x !== null) {
      const x = u.valToPos(mark.x, "x", true);
      u.ctx.moveTo(x, top);
      u.ctx.lineTo(x, top + height);
    }
  }
  u.ctx.stroke();
  u.ctx.restore();
}

function surroundings(u: uPlot, lines: Lines): Around {
  const left = u.over.offsetLeft;
  const top = u.over.offsetTop;
  const splits = (axis: number) => ((u.axes[axis] as { _splits?: (number | null)[] })._splits ?? []).filter((at) => at !== null);
  const labels = lines.x_axis.labels;
  const named = (at: number) => (labels ? (Number.isInteger(at) ? (labels[at] ?? "") : "") : number(at, 3));
  // on a log axis every digit has a line, but only the powers have a name
  const powers = (at: number) => !lines.y_axis.log || Number.isInteger(Math.round(Math.log10(at) * 1e6) / 1e6);
  const { min = 0, max = 1 } = u.scales.y ?? {};
  const within = (at: number) => at >= (min ?? 0) && at <= (max ?? 1);
  return {
    x: splits(0).map((at) => ({ at: left + u.valToPos(at, "x"), text: named(at) })).filter(({ text }) => text),
    y: splits(1).filter((at) => powers(at) && within(at)).map((at) => ({ at: top + u.valToPos(at, "y"), text: number(at, 3) })),
    marks: lines.marks.map((mark) => ({
      name: mark.name,
      left: mark.x === null ? null : left + u.valToPos(mark.x, "x"),
      top: mark.y === null ? null : top + u.valToPos(mark.y, "y"),
    })),
  };
}
