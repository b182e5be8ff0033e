// Instants in the reader's zone: what stands in UTC is written anew, and what is relative says the instant when pointed at.
(() => {
  const zone = Intl.DateTimeFormat().resolvedOptions().timeZone;
  const shape = { year: "numeric", month: "2-digit", day: "2-digit", hour: "2-digit", minute: "2-digit", hourCycle: "h23" };
  const parts = new Intl.DateTimeFormat("en-CA", { ...shape, timeZone: zone });
  const local = (instant) => parts.format(instant).replace(",", "");
  const rewrite = () => document.querySelectorAll("time[title$=UTC]").forEach((time) => {
    const text = local(new Date(time.dateTime));
    time.title = `${text} ${zone} (${time.title})`; // ends no more in UTC, so that it is done once
    if ("local" in time.dataset) time.textContent = text;
  });
  // After live.js has noted how the server wrote the page, and again whenever it replaces a part.
  addEventListener("load", () => {
    rewrite();
    new MutationObserver(rewrite).observe(document.getElementById("main"), { childList: true, subtree: true });
  });
})();
