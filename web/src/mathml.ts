/** Formulas as MathML elements: no HTML is parsed, so nothing in a formula can be markup. */
import type { Formula } from "./contract";
import { number } from "./numbers";

const MATHML = "http://www.w3.org/1998/Math/MathML";
const TAGS: Record<string, string> = { row: "mrow", frac: "mfrac", power: "msup", root: "msqrt", index: "msub", matrix: "mtable", line: "mtr" };

function element(tag: string, ...children: (Element | string)[]): Element {
  const made = document.createElementNS(MATHML, tag);
  made.append(...children);
  return made;
}

function part(tree: Formula, digits: number): Element {
  if (typeof tree === "number" || tree === null) return element("mn", number(tree ?? NaN, digits));
  if (typeof tree === "string") {
    const word = tree.trim();
    if (!word) return element("mtext", "\u2009");
    return element(/\p{L}/u.test(word) ? "mi" : "mo", word);
  }
  const [kind, ...trees] = tree;
  const parts = trees.map((each) => part(each, digits));
  const cells = kind === "line" ? parts.map((each) => element("mtd", each)) : parts;
  return element(TAGS[kind] ?? "mrow", ...cells);
}

/** A formula; a chain of equations has a line for each side after the second. */
export function mathml(tree: Formula, digits = 4): Element[] {
  return lines(tree).map((line) => {
    const math = element("math", part(line, digits));
    math.setAttribute("display", "block");
    return math;
  });
}

function lines(tree: Formula): Formula[] {
  if (!Array.isArray(tree) || tree[0] !== "row") return [tree];
  const parts = tree.slice(1);
  const equals = parts.flatMap((each, at) => (each === " = " ? [at] : []));
  const cuts = [0, ...equals.slice(1), parts.length];
  return cuts.slice(1).map((end, line) => ["row", ...parts.slice(cuts[line], end)]);
}
