/** A number with so many decimals and no trailing zeros, as the library writes it. */
export function number(value: number, digits = 4): string {
  if (Number.isInteger(value) && Math.abs(value) < 1e9) return minus(String(value + 0)); // + 0: zero has no sign
  if (!Number.isFinite(value)) return Number.isNaN(value) ? "–" : value > 0 ? "∞" : "−∞";
  const size = Math.abs(value);
  if (value && !(10 ** (1 - digits) <= size && size < 1e9)) return minus(String(Number(value.toPrecision(digits))));
  return minus(String(Number(value.toFixed(digits))));
}

/** A value with an explicit sign, which must not be shown by colour alone. */
export function signed(value: number, digits = 4): string {
  const shown = number(value, digits);
  return value > 0 ? `+${shown}` : shown;
}

function minus(shown: string): string {
  return shown.replace(/-/g, "−");
}

export function clamp(value: number, least: number, most: number): number {
  return Math.min(Math.max(value, least), most);
}

/** The step of about `wanted` ticks on an axis: 1, 2 or 5 times a power of ten. */
export function tickStep(count: number, wanted: number): number {
  const rough = Math.max(1, count / Math.max(1, wanted));
  const ten = 10 ** Math.floor(Math.log10(rough));
  return [1, 2, 5, 10].map((times) => times * ten).find((step) => step >= rough - 1e-9) ?? rough;
}

/** The index of the nearest number; the first of two. */
export function nearest(all: number[], wanted: number): number {
  return all.reduce((best, x, i) => (Math.abs(x - wanted) < Math.abs((all[best] ?? 0) - wanted) ? i : best), 0);
}
