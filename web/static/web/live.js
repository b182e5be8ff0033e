// A page keeps itself new while somebody looks at it: the parts marked data-live are replaced where they have changed.
// What is being typed into, and what is drawn by a script, is left alone.
(() => {
  const parts = () => [...document.querySelectorAll("[data-live][id]")];
  if (!parts().length) return;

  const plain = (part) => part.outerHTML.replace(/name="csrfmiddlewaretoken" value="[^"]*"/g, "");
  const seconds = () => Math.min(...parts().map((part) => Number(part.dataset.live) || 20));
  const known = new Map(parts().map((part) => [part.id, plain(part)])); // as the server wrote them: scripts add marks
  const isTyped = (part) => part.contains(document.activeElement) && document.activeElement.matches("input, textarea, select");

  // What has the same place in the new part as this has in the old one: the same id, else the same words.
  const alike = (old, fresh, one) => {
    if (one.id) return fresh.querySelector(`#${CSS.escape(one.id)}`);
    const named = (part) => [...part.querySelectorAll(one.tagName)].filter((each) => each.textContent === one.textContent);
    return named(fresh)[named(old).indexOf(one)];
  };

  // The new part takes over what the reader has done with the old one: what is unfolded, chosen, scrolled and focused.
  const replace = (old, fresh) => {
    const active = old.contains(document.activeElement) ? document.activeElement : null;
    const next = active && alike(old, fresh, active);
    const unfolded = [...old.querySelectorAll("details")].map((details) => details.open);
    const scrolled = [...old.querySelectorAll(".scroll")].map((place) => [place.scrollLeft, place.scrollTop]);
    old.replaceWith(fresh);
    fresh.querySelectorAll("details").forEach((details, i) => { details.open = details.open || Boolean(unfolded[i]); });
    old.querySelectorAll("[type=checkbox]").forEach((box) => {
      const same = fresh.querySelector(`[type=checkbox][value="${CSS.escape(box.value)}"]`);
      if (same) same.checked = box.checked;
    });
    fresh.querySelectorAll(".scroll").forEach((place, i) => { [place.scrollLeft, place.scrollTop] = scrolled[i] || [0, 0]; });
    if (active && !next) fresh.tabIndex = -1; // its button is gone: the keyboard goes on from where it was
    if (active) (next || fresh).focus({ preventScroll: true });
    if (window.htmx) window.htmx.process(fresh);
  };

  // A change that a screen reader is to tell, such as that an incident is resolved.
  const told = document.createElement("p");
  told.className = "sr-only";
  told.setAttribute("role", "status");
  document.getElementById("main").append(told);
  const tell = (old, fresh) => {
    const [before, now] = [old, fresh].map((part) => part.querySelector("[data-told]")?.textContent.trim());
    if (now && now !== before) told.textContent = now;
  };

  const look = async () => {
    const asked = location.href;
    const answer = await fetch(asked, { headers: { "X-Live": "1" }, credentials: "same-origin" });
    if (answer.redirected || answer.status === 401 || answer.status === 403) {
      const said = document.createElement("p");
      said.className = "flash error";
      said.setAttribute("role", "status");
      said.textContent = assayText("logged out");
      document.getElementById("main").prepend(said);
      return false;
    }
    if (!answer.ok) return true;
    if (location.href !== asked) return true; // a filter was changed meanwhile: this is the answer to another question
    const found = new DOMParser().parseFromString(await answer.text(), "text/html");
    parts().forEach((part) => {
      const fresh = found.getElementById(part.id);
      if (!fresh || isTyped(part) || plain(fresh) === known.get(part.id)) return;
      known.set(part.id, plain(fresh));
      tell(part, fresh);
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
