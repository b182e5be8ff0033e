// The neighbourhood of a dataset: upstream to the left, downstream to the right, each with its status in words.
// The library that draws it is large, so it is loaded when the place of the graph comes near the screen.
(() => {
  const source = document.getElementById("lineage-data");
  const place = document.getElementById("lineage");
  if (!source || !place) return;
  const draw = () => {
    const graph = JSON.parse(source.textContent);
    const here = graph.nodes.find((node) => node.x === 0);
    const heights = {};
    graph.nodes.forEach((node) => { heights[node.x] = Math.max(heights[node.x] || 0, node.y); });

    const elements = [
      ...graph.nodes.map((node) => ({
        data: { id: String(node.id), name: node.name, label: `${node.name}\n${node.word} · ${assayText("tier", { tier: node.tier })}`, status: node.status },
        classes: node === here ? "here" : "",
        position: { x: node.x * 290, y: (node.y - heights[node.x] / 2) * 76 },
      })),
      ...graph.edges.map(([from, to, oneToOne]) => ({
        data: { source: String(from), target: String(to) }, classes: oneToOne ? "one" : "",
      })),
    ];

    const style = () => {
      const color = assayTheme();
      const known = { pass: 1, fail: 1, warn: 1, unknown: 1, learning: 1 };
      const of = (node) => (known[node.data("status")] ? node.data("status") : "idle");
      return [
        { selector: "node", style: {
          shape: "round-rectangle", width: 210, height: 50, label: "data(label)", "text-wrap": "wrap", "text-max-width": 196,
          "text-valign": "center", "text-halign": "center", "font-size": 13, "line-height": 1.3, "font-family": "system-ui, sans-serif",
          color: color("text"), "background-color": (node) => color(`${of(node)}-soft`), "border-width": 1.5, "border-color": (node) => color(of(node)) } },
        { selector: "node.here", style: { "border-width": 3, "font-weight": 700 } },
        { selector: "edge", style: {
          width: 1.5, "line-color": color("line-strong"), "target-arrow-color": color("line-strong"), "target-arrow-shape": "triangle",
          "curve-style": "taxi", "taxi-direction": "horizontal", "taxi-turn": "50%", "line-style": "dashed", "arrow-scale": 0.9 } },
        { selector: "edge.one", style: { "line-style": "solid" } },
      ];
    };

    const tallest = Math.max(...Object.values(heights)) + 1;
    place.style.height = `${Math.min(460, Math.max(150, tallest * 84))}px`;
    const cy = cytoscape({
      container: place, elements, style: style(), layout: { name: "preset", fit: true, padding: 28 },
      autoungrabify: true, userZoomingEnabled: false, boxSelectionEnabled: false, maxZoom: 1,
    });
    cy.fit(undefined, 28);
    if (cy.zoom() > 1) { cy.zoom(1); cy.center(); }
    cy.on("tap", "node", (event) => { location.href = place.dataset.href.replace("NAME", encodeURIComponent(event.target.data("name"))); });
    cy.on("mouseover", "node", () => { place.style.cursor = "pointer"; });
    cy.on("mouseout", "node", () => { place.style.cursor = ""; });
    assayOnThemeChange(() => cy.style(style()));
  };

  const near = new IntersectionObserver((seen) => {
    if (!seen.some((each) => each.isIntersecting)) return;
    near.disconnect();
    const library = document.createElement("script");
    library.src = place.dataset.library;
    library.addEventListener("load", draw);
    document.head.append(library);
  }, { rootMargin: "300px" });
  near.observe(place);
})();
