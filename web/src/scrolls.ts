/** An attachment that makes an overflowing element focusable, under this name, so that keys scroll it. */
export function scrolls(name: string): (box: HTMLElement) => () => void {
  return (box) => {
    function look() {
      const cut = box.scrollWidth > box.clientWidth || box.scrollHeight > box.clientHeight;
      const wanted = { tabindex: "0", role: "group", "aria-label": name };
      for (const [key, value] of Object.entries(wanted)) cut ? box.setAttribute(key, value) : box.removeAttribute(key);
    }
    look(); // at once: nobody finds it without
    const watch = new ResizeObserver(look);
    for (const each of [box, ...box.children]) watch.observe(each);
    return () => watch.disconnect();
  };
}
