const wish = typeof matchMedia === "undefined" ? null : matchMedia("(prefers-color-scheme: dark)");

export function isDark(theme: string): boolean {
  return theme === "dark" || (theme === "auto" && (wish?.matches ?? false));
}

/** Call back when the system turns dark or light; returns a function that stops listening. */
export function onSystemTheme(tell: () => void): () => void {
  wish?.addEventListener("change", tell);
  return () => wish?.removeEventListener("change", tell);
}

export function prefersStillness(): boolean {
  return matchMedia("(prefers-reduced-motion: reduce)").matches;
}
