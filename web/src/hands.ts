/** Pairs and positions of dials, from their names and labels. */
import type { Dials } from "./contract";

/** Each label begins with its position. */
export const positionsOf = (dials: Dials): number[] => dials.labels.map((label) => parseInt(label));

/** The first number of each name is its pair. */
export const pairsOf = (dials: Dials): number[] => dials.names.map((name) => Number(/\d+/.exec(name)?.[0] ?? 0));

/** The tip of a hand on a dial of radius 40, scaled to the longest hand. */
export function tipOf([angle, length]: [number, number], longest: number): { x: number; y: number } {
  return { x: (40 * length * Math.cos(angle)) / longest, y: (-40 * length * Math.sin(angle)) / longest };
}
