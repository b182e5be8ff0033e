// The results of one data test over its windows, drawn against the bounds of its revisions.
(() => {
  const source = document.getElementById("history-data");
  const place = document.getElementById("history");
  const data = source && JSON.parse(source.textContent);
  if (!place || !data || !data.start.length) return;

  // Lengths of time as people say them: at most two units, such as 3 h 20 min.
  const length = (seconds) => {
    if (Math.abs(seconds) < 60) return seconds === 0 ? "0" : `${Math.round(seconds)} s`;
    const minutes = Math.round(Math.abs(seconds) / 60);
    const [unit, size] = minutes >= 2880 ? ["d", 1440] : minutes >= 60 ? ["h", 60] : ["min", 1];
    const rest = minutes % size;
    const more = rest === 0 ? "" : size === 1440 ? ` ${Math.round(rest / 60)} h` : ` ${rest} min`;
    return `${seconds < 0 ? "-" : ""}${Math.floor(minutes / size)} ${unit}${more}`;
  };
  const figure = (value) => {
    if (value === null || value === undefined) return "–";
    if (data.duration) return length(value);
    return Number.isInteger(value) ? value.toLocaleString("en") : String(+value.toPrecision(6));
  };
  const instant = (seconds) => new Date(seconds * 1000).toISOString().slice(0, 16).replace("T", " ");
  const only = (outcome) => data.value.map((value, i) => (data.outcome[i] === outcome ? value : null));

  // Ticks of lengths stand at round ones.
  const MINUTE = 60, HOUR = 3600, DAY = 86400;
  const LENGTHS = [1, 5, 10, 30, MINUTE, 5 * MINUTE, 10 * MINUTE, 15 * MINUTE, 30 * MINUTE, HOUR, 2 * HOUR, 3 * HOUR, 6 * HOUR, 12 * HOUR, DAY, 2 * DAY, 7 * DAY, 14 * DAY, 28 * DAY, 91 * DAY, 364 * DAY];

  // The plot is zoomed to what holds and to the bounds: one wild value must not flatten all others. What lies beyond
  // is drawn at the edge, as an arrow, and told in words.
  const known = (values) => values.filter((value) => value !== null && value !== undefined);
  const calm = [...known(data.low), ...known(data.high), ...known(only("held"))];
  const spread = calm.length ? Math.max(...calm) - Math.min(...calm) || Math.abs(calm[0]) * 0.1 || 1 : 0;
  const room = calm.length ? [Math.min(...calm) - 1.5 * spread, Math.max(...calm) + 1.5 * spread] : [-Infinity, Infinity];
  const isFar = (value) => value !== null && value !== undefined && (value < room[0] || value > room[1]);
  const hasFar = [...data.was, ...data.value].some(isFar);
  let isZoomed = hasFar;
  const inside = (value) => (isZoomed && isFar(value) ? Math.max(room[0], Math.min(room[1], value)) : value);

  const diamond = (u, series) => {
    const path = new Path2D();
    const r = 5 * devicePixelRatio;
    u.data[series].forEach((value, i) => {
      if (value === null) return;
      const x = u.valToPos(u.data[0][i], "x", true);
      const y = u.valToPos(value, "y", true);
      if (isZoomed && isFar(data.was[i])) {
        const way = data.was[i] > room[1] ? -1 : 1;
        path.moveTo(x, y + way * r * 1.6); path.lineTo(x + r * 1.2, y - way * r * 0.4); path.lineTo(x - r * 1.2, y - way * r * 0.4); path.closePath();
        return;
      }
      path.moveTo(x, y - r); path.lineTo(x + r, y); path.lineTo(x, y + r); path.lineTo(x - r, y); path.closePath();
    });
    return { stroke: path, fill: path };
  };

  const draw = () => {
    place.replaceChildren();
    const color = assayTheme();
    const axis = { stroke: color("muted"), grid: { stroke: color("line"), width: 1 }, ticks: { stroke: color("line"), width: 1 }, font: "12px system-ui, sans-serif" };
    const bound = (label) => ({ label, stroke: color("warn"), width: 1.5, dash: [5, 4], points: { show: false }, paths: uPlot.paths.stepped({ align: 1 }), value: (u, v) => figure(v) });
    const chart = new uPlot({
      width: place.clientWidth, height: 250, tzDate: (ts) => uPlot.tzDate(new Date(ts * 1000), "UTC"),
      legend: { show: true, live: true }, cursor: { points: { show: false } },
      scales: { x: { range: (u, first, last) => { const end = data.start.length > 1 ? last : first; const margin = (end - first) * 0.015 || 43200; return [first - margin, end + margin]; } }, y: { range: (u, low, high) => {
        const margin = (high - low) * 0.12 || Math.abs(high) * 0.1 || 1;
        return [low >= 0 && low - margin < 0 ? Math.min(0, low) : low - margin, data.share && high <= 1 ? Math.min(high + margin, 1.005) : high + margin];
      } } },
      axes: [{ ...axis, space: 90, values: (u, ticks) => ticks.map((tick) => (tick % 86400 ? instant(tick).slice(5) : instant(tick).slice(0, 10))) }, { ...axis, size: 78, ...(data.duration ? { incrs: LENGTHS } : {}), values: (u, ticks) => ticks.map(figure) }],
      series: [
        { label: assayText("window"), value: (u, v) => (v === null ? "–" : instant(v)) },
        { label: assayText("value"), stroke: color("accent"), width: 1.5, points: { show: false }, spanGaps: true, value: (u, v, s, i) => figure(i === null || i === undefined ? v : data.value[i]) },
        { label: assayText("held"), stroke: color("accent"), width: 0, points: { show: true, size: 6, fill: color("accent"), stroke: color("accent") }, paths: () => null, value: () => "" },
        { label: assayText("broken"), stroke: color("fail"), fill: color("fail"), width: 1, points: { show: false }, paths: diamond, value: () => "" },
        bound(assayText("at least")), bound(assayText("at most")),
      ],
    }, [data.start, data.value.map(inside), only("held").map(inside), data.was.map(inside), data.low, data.high], place);
    chart.root.querySelectorAll(".u-legend .u-series").forEach((row, i) => {
      const isEmptyBound = (i === 4 && data.low.every((v) => v === null)) || (i === 5 && data.high.every((v) => v === null));
      if (i === 2 || i === 3 || isEmptyBound) row.hidden = true;
    });
    return chart;
  };

  let chart = draw();
  assayOnThemeChange(() => { chart.destroy(); chart = draw(); });
  new ResizeObserver(() => chart.setSize({ width: place.clientWidth, height: 250 })).observe(place);

  // What is broken, or was, in words below the plot: the worst first.
  const beyond = (i) => Math.max((data.low[i] ?? -Infinity) - data.was[i], data.was[i] - (data.high[i] ?? Infinity), 0);
  const broken = [...data.start.keys()].filter((i) => data.was[i] !== null);
  broken.sort((one, other) => beyond(other) - beyond(one) || other - one);
  const told = document.getElementById("history-told");
  if (told && broken.length) {
    const MOST = 4;
    const words = broken.slice(0, MOST).map((i) => {
      const isBelow = data.low[i] !== null && data.was[i] < data.low[i];
      const bound = isBelow ? ` (${assayText("wanted at least", { value: figure(data.low[i]) })})` : data.high[i] !== null ? ` (${assayText("wanted at most", { value: figure(data.high[i]) })})` : "";
      return `${data.key[i]}: ${figure(data.was[i])}${bound}${data.outcome[i] === "held" ? `, ${assayText("mended")}` : ""}`;
    });
    if (broken.length > MOST) words.push(assayText("more", { count: broken.length - MOST }));
    told.textContent = assayText("told", { windows: words.join("; ") });
  }
  const zoom = document.getElementById("history-zoom");
  if (zoom && hasFar) {
    zoom.hidden = false;
    zoom.addEventListener("click", () => {
      isZoomed = !isZoomed;
      zoom.setAttribute("aria-pressed", String(!isZoomed));
      chart.destroy();
      chart = draw();
    });
  }

  const rows = document.getElementById("history-rows");
  for (let i = data.start.length - 1; i >= 0; i -= 1) {
    const row = rows.insertRow();
    const mended = data.outcome[i] === "held" && data.was[i] !== null;
    const outcome = mended ? assayText("was broken", { value: figure(data.was[i]) }) : assayText(data.outcome[i]);
    [instant(data.start[i]), figure(data.value[i]), outcome].forEach((text, column) => {
      const cell = row.insertCell();
      cell.textContent = text;
      if (column === 1) cell.className = "num";
    });
  }
})();
