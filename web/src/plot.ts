/** A uPlot of lines without text in its canvas; ticks, names and marks are HTML around it. */
import uPlot from "uplot";
import type { Line, Lines } from "./contract";
import { number } from "./numbers";
import { level, sloped } from "./steps";
import { lookOf } from "./strokes";

export interface Tick {
  at: number;
  text: string;
}

/** The label of a mark: for a horizontal one, above or below it, left or right. */
export interface Mark {
  name: string;
  left: number | null;
  top: number | null;
  below: boolean;
  first: boolean;
}

/** The labels around the plot, in pixels from its top left. */
export interface Around {
  x: Tick[];
  y: Tick[];
  marks: Mark[];
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

/** Tick steps of positions, dimensions and distances, which are integers. */
const WHOLE = Array.from({ length: 7 }, (_, power) => [1, 2, 5].map((digit) => digit * 10 ** power)).flat();

/** Height of a label in pixels. */
const HIGH = 18;

export function plot(target: HTMLElement, lines: Lines, look: Look, tell: Tell): uPlot {
  // a smooth wave has points between positions, which are not marked
  const whole = lines.x.flatMap((x, i) => (Number.isInteger(x) ? [i] : []));
  const marked = whole.length <= 40 && lines.ratio === 1;
  const bare = { values: () => [], size: 0, gap: 0, grid: { stroke: look.rule, width: 1 }, ticks: { show: false } };
  const looks = lines.lines.map((line) => lookOf(line.colour, look.colours));
  const options: uPlot.Options = {
    width: look.width,
    height: look.height,
    padding: [6, 6, 0, 0],
    legend: { show: false },
    cursor: { drag: { x: false, y: false }, y: false, points: { size: 7 } },
    scales: { x: { time: false, range: across(lines.x) }, y: { distr: lines.y_axis.log ? 3 : 1, range: around(lines) } },
    axes: [
      { ...bare, space: 56, incrs: WHOLE },
      { ...bare, space: 28 },
    ],
    series: [
      {},
      ...lines.lines.map((line, i) => ({
        label: line.name,
        stroke: looks[i]?.shade,
        width: lines.ratio > 1 ? 1 : 2, // a mean is not to hide the band
        pxAlign: 0, // points at whole pixels would make a smooth wave wobble
        dash: looks[i]?.stroke,
        ...(lines.steps ? { paths: levelPaths } : {}),
        points: { show: marked, size: 5, filter: (_u: uPlot, _series: number, show: boolean) => (show ? whole : null) },
      })),
    ],
    hooks: {
      ready: [tell.ready],
      drawAxes: [(u) => lines.lines.forEach((line, i) => fillBand(u, lines, line, looks[i]?.shade ?? look.ink))],
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

/** The range of x, widened around a single point. */
function across(x: number[]): uPlot.Range.MinMax {
  const [first = 0, last = 0] = [x[0], x.at(-1)];
  return first === last ? [first - 1, last + 1] : [first, last];
}

/** The range of y: all lines and marks with a margin; on a log axis, positive values only. */
function around(lines: Lines): uPlot.Range.MinMax {
  const log = lines.y_axis.log;
  const values = [...lines.lines.flatMap((line) => [...line.y, ...(line.low ?? []), ...(line.high ?? [])]), ...lines.marks.map((mark) => mark.y)];
  const finite = values.filter((y): y is number => y !== null && Number.isFinite(y) && (!log || y > 0));
  if (!finite.length) return log ? [1, 10] : [-1, 1];
  const least = finite.reduce((a, b) => Math.min(a, b));
  const most = finite.reduce((a, b) => Math.max(a, b));
  // a log axis ends at powers of ten
  if (log) return [10 ** Math.floor(Math.log10(least)), 10 ** Math.ceil(Math.log10(most * 1.0001))];
  const size = Math.max(Math.abs(least), Math.abs(most));
  // differences from rounding do not count
  const room = (most - least > 1e-9 * size ? most - least : size || 1) * 0.05;
  return [least - room, most + room];
}

/** The band behind a line, from the smallest to the largest of the values it averages. */
function fillBand(u: uPlot, { x, steps }: Lines, { low, high }: Line, shade: string): void {
  if (!low || !high) return;
  u.ctx.save();
  u.ctx.globalAlpha = 0.25;
  u.ctx.fillStyle = shade;
  const corners = steps ? level : sloped;
  const below = corners(x, low);
  corners(x, high).forEach((above, stretch) => {
    u.ctx.beginPath();
    for (const [at, y] of [...above, ...(below[stretch] ?? []).reverse()]) u.ctx.lineTo(u.valToPos(at, "x", true), u.valToPos(y, "y", true));
    u.ctx.fill();
  });
  u.ctx.restore();
}

/** A step line, level around each x. */
function levelPaths(u: uPlot, series: number): uPlot.Series.Paths {
  const stroke = new Path2D();
  for (const stretch of level(u.data[0] as number[], u.data[series] as (number | null)[])) {
    stretch.forEach(([x, y], corner) => stroke[corner ? "lineTo" : "moveTo"](u.valToPos(x, "x", true), u.valToPos(y, "y", true)));
  }
  return { stroke };
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
  // a log axis has a line for every digit, but labels for powers only
  const powers = (at: number) => !lines.y_axis.log || Number.isInteger(Math.round(Math.log10(at) * 1e6) / 1e6);
  const { min = 0, max = 1 } = u.scales.y ?? {};
  const pixels = (y: number, other: number) => Math.abs(u.valToPos(y, "y") - u.valToPos(other, "y"));
  /** Pixels between a mark and the nearest line, within a part of the plot. */
  function room(mark: number, from: number, to: number): number {
    const points = lines.lines.flatMap(({ y }) => y.slice(Math.floor(from * y.length), Math.ceil(to * y.length)));
    return Math.min(...points.filter((y) => y !== null).map((y) => pixels(mark, y)));
  }
  const within = (at: number) => at >= (min ?? 0) && at <= (max ?? 1);
  return {
    x: splits(0).map((at) => ({ at: left + u.valToPos(at, "x"), text: named(at) })).filter(({ text }) => text),
    y: splits(1).filter((at) => powers(at) && within(at)).map((at) => ({ at: top + u.valToPos(at, "y"), text: number(at, 3) })),
    marks: lines.marks.filter(({ x }) => x === null || (x >= (lines.x[0] ?? 0) && x <= (lines.x.at(-1) ?? 0))).map((mark) => ({
      name: mark.name,
      left: mark.x === null ? null : left + u.valToPos(mark.x, "x"),
      top: mark.y === null ? null : top + u.valToPos(mark.y, "y"),
      // labels of two close marks: one above, one below
      below: lines.marks.some((other) => other !== mark && other.y !== null && mark.y !== null && mark.y < other.y && pixels(mark.y, other.y) < HIGH),
      first: mark.y !== null && room(mark.y, 0, 0.4) > room(mark.y, 0.6, 1),
    })),
  };
}
