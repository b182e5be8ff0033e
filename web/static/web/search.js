// The search in the head of each page: / and Ctrl+K lead to it, arrows go through the hits, Escape closes them.
(() => {
  const form = document.getElementById("search");
  if (!form) return;
  const box = form.querySelector("input");
  const hits = document.getElementById("hits");
  const close = () => hits.replaceChildren();

  document.addEventListener("keydown", (event) => {
    const isTyping = event.target.matches("input, textarea, select, [contenteditable]");
    const isCalled = (event.key === "/" && !isTyping && !event.ctrlKey && !event.metaKey && !event.altKey)
      || (event.key.toLowerCase() === "k" && (event.ctrlKey || event.metaKey) && !event.altKey && !event.shiftKey);
    if (!isCalled) return;
    event.preventDefault();
    box.focus();
    box.select();
  });

  form.addEventListener("keydown", (event) => {
    const stops = [box, ...hits.querySelectorAll("a")];
    const at = stops.indexOf(document.activeElement);
    if (event.key === "Escape") {
      if (hits.firstChild) event.preventDefault(); // else it empties the box, as the browser has it
      close();
      box.focus();
    } else if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      event.preventDefault();
      const step = event.key === "ArrowDown" ? 1 : -1;
      stops[(at + step + stops.length) % stops.length].focus();
    }
  });
  document.addEventListener("pointerdown", (event) => { if (!form.contains(event.target)) close(); });
  form.addEventListener("focusout", (event) => { if (event.relatedTarget && !form.contains(event.relatedTarget)) close(); });
  document.body.addEventListener("htmx:before:swap", (event) => {
    if (event.target === box && (document.activeElement !== box || !box.value.trim())) event.preventDefault(); // left meanwhile
  });
  box.addEventListener("input", () => { if (!box.value.trim()) close(); });
})();
