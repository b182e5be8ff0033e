// Instants in the reader's zone: what stands in UTC is written anew, and what is relative says the instant when pointed at.
// What one writes into a field is of the reader's zone too, and is sent in UTC.
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
  const offer = (field) => {
    const label = [...field.parentElement.childNodes].find((node) => node.nodeType === 3 && node.data.includes("UTC"));
    if (label) label.data = label.data.replace("UTC", zone);
    if (field.value) field.value = field.defaultValue = local(new Date(`${field.value}Z`)).replace(" ", "T");
    const sent = Object.assign(document.createElement("input"), { type: "hidden", name: field.name });
    const write = () => { sent.value = field.value && new Date(field.value).toISOString().slice(0, 16); };
    field.removeAttribute("name");
    field.removeAttribute("data-utc");
    field.addEventListener("input", write);
    field.after(sent);
    write();
  };
  const offerAll = () => document.querySelectorAll("input[data-utc]").forEach(offer);
  offerAll();
  // After live.js has noted how the server wrote the page, and again whenever it replaces a part.
  addEventListener("load", () => {
    rewrite();
    new MutationObserver(() => { offerAll(); rewrite(); }).observe(document.getElementById("main"), { childList: true, subtree: true });
  });
})();
