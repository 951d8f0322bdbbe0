"""Where each view is seen: the encodings whose tabs have it, and the views of each."""

LANGUAGES = ("en", "ja", "zh-Hans", "zh-Hant")

SINUSOIDAL = ("heatmap", "waves", "wavelengths", "similarity", "products", "sum", "attention")
TOUR_OF_VIEWS = {
    "Sinusoidal": SINUSOIDAL,
    "Learned": ("learned",),
    "AxialSinusoidal": ("maps",),
    "RoPE": ("heatmap", "rotation", "decay", "scalings"),
    "ALiBi": ("bias",),
    "Shaw": ("attention",),
}
"""Titles in the list of encodings, and the views to look at there: all, none for nothing."""

EXPRESSIONS = {
    "Sinusoidal": "Sinusoidal(64)",
    "Learned": "Learned(512,64)",
    "AxialSinusoidal": "AxialSinusoidal(64)",
    "RoPE": "RoPE(64)",
    "ALiBi": "ALiBi(8)",
    "Shaw": "Shaw(64,16)",
}

# What stands out of the page to the right, or is cut off by its own box without a way to scroll.
CUT = """
() => {
  const page = document.documentElement;
  const wide = page.clientWidth;
  const found = [];
  if (page.scrollWidth > wide) found.push(`scrolls sideways: ${page.scrollWidth} > ${wide}`);
  const scrolls = (e) =>
    e && (/auto|scroll/.test(getComputedStyle(e).overflowX) || scrolls(e.parentElement));
  const skipped = ".unseen, .u-over, details:not([open]) > :not(summary)";
  for (const e of document.querySelectorAll("main *, header *, aside *")) {
    const box = e.getBoundingClientRect();
    if (e.closest(skipped) || !e.checkVisibility() || !box.width || !box.height) continue;
    const words = (e.textContent ?? "").trim().slice(0, 40);
    const name = `${e.tagName}.${e.getAttribute("class") ?? ""} ${words}`;
    if ((box.right > wide + 1 || box.left < -1) && !scrolls(e)) found.push(`out of it: ${name}`);
    const style = getComputedStyle(e);
    const text = [...e.childNodes].some((n) => n.nodeType === 3 && n.nodeValue.trim());
    const clipped = /hidden|clip/.test(style.overflowX) && style.textOverflow !== "ellipsis";
    if (text && clipped && e.scrollWidth > e.clientWidth + 1) found.push(`cut: ${name}`);
  }
  return found;
}
"""
