// Charts that the server drew: a tooltip at the nearest point, by pointer, touch or arrow keys; dragging zooms in time.
// What is zoomed to stands in the address, and the server draws it: part [data-zoom] of the page is replaced.
(() => {
  const CHARTS = "svg.chart[data-start]";
  const tip = document.createElement("p");
  tip.className = "chart-tip";
  tip.setAttribute("role", "status");
  const put = (shape, values) => { Object.entries(values).forEach(([name, value]) => shape.setAttribute(name, value)); return shape; };
  const drawn = (name, values) => put(document.createElementNS("http://www.w3.org/2000/svg", name), values);
  const ring = drawn("circle", { class: "ring", r: 8 }), stretch = drawn("rect", { class: "stretch", y: 0 });

  // Its points, each a line of its metadata: two places, and a text.
  const pointsOf = (svg) => (svg.querySelector("metadata")?.textContent || "").split("\n").filter(Boolean).map((line) => {
    const [x, y, ...words] = line.split(" ");
    return { x: Number(x), y: Number(y), text: words.join(" ") };
  });

  const show = (svg, at) => {
    const point = pointsOf(svg)[at];
    if (!point) return;
    svg.dataset.at = at;
    svg.append(put(ring, { cx: point.x, cy: point.y }));
    const frame = svg.parentElement;
    if (tip.parentElement !== frame) frame.append(tip);
    if (tip.textContent !== point.text) tip.textContent = point.text;
    const scale = svg.clientWidth / svg.viewBox.baseVal.width;
    const left = Math.max(0, Math.min(point.x * scale - tip.offsetWidth / 2, svg.clientWidth - tip.offsetWidth));
    const above = point.y * scale - tip.offsetHeight - 14;
    tip.style.left = `${left}px`;
    tip.style.top = `${above >= 0 ? above : point.y * scale + 14}px`;
  };
  const hide = () => { tip.remove(); ring.remove(); };

  const place = (svg, event) => {
    const box = svg.getBoundingClientRect();
    const scale = svg.viewBox.baseVal.width / box.width;
    return [(event.clientX - box.left) * scale, (event.clientY - box.top) * scale];
  };
  // The nearest in time; of several at one instant, the nearest in height.
  const nearest = (svg, [x, y]) => {
    const far = (point) => Math.abs(point.x - x) * 1000 + Math.abs(point.y - y);
    return pointsOf(svg).reduce((best, point, i, all) => (far(point) < far(all[best]) ? i : best), 0);
  };

  // The part of the page with the charts of another stretch of time.
  const load = async () => {
    const part = document.querySelector("[data-zoom]");
    const answer = await fetch(location.href, { headers: { "X-Live": "1" }, credentials: "same-origin" });
    const found = new DOMParser().parseFromString(await answer.text(), "text/html");
    const fresh = part && found.getElementById(part.id);
    if (!fresh) return location.reload();
    hide();
    part.replaceWith(document.adoptNode(fresh));
    prepare();
    [...fresh.querySelectorAll(CHARTS)].find((svg) => svg.clientWidth)?.focus({ preventScroll: true });
  };
  const instant = (svg, x) => {
    const [start, end, left, right] = ["start", "end", "left", "right"].map((name) => Number(svg.dataset[name]));
    return start + ((x - left) / (right - left)) * (end - start);
  };
  const zoom = (svg, one, other) => {
    const minute = (seconds) => new Date(Math.round(seconds / 60) * 60000).toISOString().slice(0, 16);
    const [from, to] = [Math.min(one, other), Math.max(one, other)].map(minute);
    if (from === to) return;
    const address = new URL(location.href);
    address.searchParams.set("from", from);
    address.searchParams.set("to", to);
    history.replaceState({ ...history.state, zoom: true }, "");
    history.pushState({ zoom: true }, "", address);
    load();
  };
  addEventListener("popstate", (event) => { if (event.state?.zoom) load(); });

  let drag = null; // the chart, and where it began
  const listen = (svg) => {
    svg.addEventListener("pointerdown", (event) => { drag = event.button || !svg.closest("[data-zoom]") ? null : { svg, from: place(svg, event)[0] }; });
    svg.addEventListener("pointermove", (event) => {
      const [x, y] = place(svg, event);
      show(svg, nearest(svg, [x, y]));
      if (drag?.svg !== svg || Math.abs(x - drag.from) < 8) return;
      svg.setPointerCapture(event.pointerId);
      drag.to = x;
      svg.append(put(stretch, { x: Math.min(x, drag.from), width: Math.abs(x - drag.from), height: svg.viewBox.baseVal.height }));
    });
    svg.addEventListener("pointerup", (event) => {
      const end = drag?.to;
      stretch.remove();
      if (end !== undefined) zoom(svg, instant(svg, drag.from), instant(svg, end));
      else show(svg, nearest(svg, place(svg, event)));
      drag = null;
    });
    svg.addEventListener("pointercancel", () => { drag = null; stretch.remove(); hide(); });
    svg.addEventListener("pointerleave", (event) => { if (event.pointerType === "mouse" && document.activeElement !== svg) hide(); });
    svg.addEventListener("focus", () => { if (svg.matches(":focus-visible")) show(svg, Number(svg.dataset.at ?? pointsOf(svg).length - 1)); });
    svg.addEventListener("blur", hide);
    svg.addEventListener("keydown", (event) => {
      const [at, last] = [Number(svg.dataset.at ?? 0), pointsOf(svg).length - 1];
      const next = { ArrowLeft: at - 1, ArrowRight: at + 1, Home: 0, End: last }[event.key];
      const [start, end] = [Number(svg.dataset.start), Number(svg.dataset.end)];
      const middle = instant(svg, pointsOf(svg)[at]?.x);
      if (next !== undefined) show(svg, Math.max(0, Math.min(next, last)));
      else if ("+-".includes(event.key) && svg.closest("[data-zoom]")) zoom(svg, ...[-1, 1].map((side) => middle + side * (end - start) * (event.key === "+" ? 0.25 : 1)));
      else if (event.key === "Escape") hide();
      else return;
      event.preventDefault();
    });
  };
  // The browser's own tooltip of the title would cover ours, so that its words go where only a screen reader looks.
  const prepare = () => document.querySelectorAll(`${CHARTS}:not([tabindex])`).forEach((svg) => {
    svg.setAttribute("aria-label", svg.querySelector("title").textContent);
    svg.setAttribute("aria-describedby", svg.querySelector("desc")?.id || "");
    svg.removeAttribute("aria-labelledby");
    svg.querySelector("title").remove();
    svg.tabIndex = 0;
    listen(svg);
  });
  prepare();
  new MutationObserver(prepare).observe(document.getElementById("main"), { childList: true, subtree: true }); // parts are replaced
})();
