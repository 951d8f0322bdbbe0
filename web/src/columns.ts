import type { ViewKind } from "./contract";

/** Columns of panels that a view of so many encodings will have: their cells are asked for before its answer says so. */
export function columnsOf(kind: ViewKind, count: number, flat: boolean): number {
  switch (kind) {
    case "similarity":
      return Math.min(4, flat ? count + 1 : count);
    case "products":
      return Math.min(4, Math.max(2, count));
    case "bias":
      return !flat ? 4 : count === 1 ? 3 : Math.min(4, count);
    case "attention":
      return count === 1 ? 2 : 4;
    case "sum":
      return Math.min(4, count);
    case "maps":
      return 4;
    case "decay":
      return 3;
    case "learned":
    case "scalings":
      return 2;
    case "rotation":
    case "wavelengths":
      return 1;
    default:
      return Math.min(2, count);
  }
}
