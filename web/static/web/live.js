// A page keeps itself new while somebody looks at it: the parts marked data-live are replaced where they have changed.
// What is being typed into, and what is drawn by a script, is left alone.
(() => {
  const parts = () => [...document.querySelectorAll("[data-live][id]")];
  if (!parts().length) return;

  const plain = (part) => part.outerHTML.replace(/name="csrfmiddlewaretoken" value="[^"]*"/g, "");
  const seconds = () => Math.min(...parts().map((part) => Number(part.dataset.live) || 20));
  const known = new Map(parts().map((part) => [part.id, plain(part)])); // as the server wrote them: scripts add marks
  const isTyped = (part) => part.contains(document.activeElement) && document.activeElement.matches("input, textarea, select");

  // The new part takes over what the reader has done with the old one: what is unfolded, scrolled and focused.
  const replace = (old, fresh) => {
    const active = old.contains(document.activeElement) ? document.activeElement : null;
    const same = active && (active.id ? `#${CSS.escape(active.id)}` : active.getAttribute("href") && `a[href="${CSS.escape(active.getAttribute("href"))}"]`);
    const unfolded = [...old.querySelectorAll("details")].map((details) => details.open);
    const scrolled = [...old.querySelectorAll(".scroll")].map((place) => [place.scrollLeft, place.scrollTop]);
    old.replaceWith(fresh);
    fresh.querySelectorAll("details").forEach((details, i) => { details.open = details.open || Boolean(unfolded[i]); });
    fresh.querySelectorAll(".scroll").forEach((place, i) => { [place.scrollLeft, place.scrollTop] = scrolled[i] || [0, 0]; });
    if (same) fresh.querySelector(same)?.focus();
    if (window.htmx) window.htmx.process(fresh);
  };

  const look = async () => {
    const answer = await fetch(location.href, { headers: { "X-Live": "1" }, credentials: "same-origin" });
    if (answer.redirected || answer.status === 401 || answer.status === 403) {
      const said = document.createElement("p");
      said.className = "flash error";
      said.setAttribute("role", "status");
      said.textContent = "You are logged out: what is shown does not change any more. Log in again; what you have typed here is kept.";
      document.getElementById("main").prepend(said);
      return false;
    }
    if (!answer.ok) return true;
    const found = new DOMParser().parseFromString(await answer.text(), "text/html");
    parts().forEach((part) => {
      const fresh = found.getElementById(part.id);
      if (!fresh || isTyped(part) || plain(fresh) === known.get(part.id)) return;
      known.set(part.id, plain(fresh));
      replace(part, document.adoptNode(fresh));
    });
    return true;
  };

  const again = async () => {
    let goesOn = true;
    if (document.visibilityState === "visible") {
      try { goesOn = await look(); } catch { /* the network is away: the next look may find it */ }
    }
    if (goesOn) setTimeout(again, seconds() * 1000);
  };
  setTimeout(again, seconds() * 1000);
})();
