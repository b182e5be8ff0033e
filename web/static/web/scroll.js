// A table that is wider or longer than its place can be scrolled by the keyboard: its place takes the focus then.
(() => {
  const mark = (place) => {
    if (place.dataset.named === undefined && place.hasAttribute("tabindex")) return; // the page says so itself
    const scrolls = place.scrollWidth > place.clientWidth || place.scrollHeight > place.clientHeight;
    if (!scrolls) {
      ["tabindex", "role", "aria-label"].forEach((name) => place.removeAttribute(name));
      return;
    }
    const heading = place.closest("section")?.querySelector("h2, h3");
    place.dataset.named = "";
    place.tabIndex = 0;
    place.setAttribute("role", "group");
    place.setAttribute("aria-label", `${heading ? `${heading.textContent.trim()}: ` : ""}${assayText("scrolls")}`);
  };
  const watch = new ResizeObserver((seen) => seen.forEach((one) => mark(one.target)));
  const look = () => document.querySelectorAll(".scroll").forEach((place) => watch.observe(place));
  look();
  new MutationObserver(look).observe(document.getElementById("main"), { childList: true, subtree: true });
})();
