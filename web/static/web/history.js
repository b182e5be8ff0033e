// The results of one data test over its windows, drawn against the bounds of its revisions.
(() => {
  const source = document.getElementById("history-data");
  const place = document.getElementById("history");
  const data = source && JSON.parse(source.textContent);
  if (!place || !data || !data.start.length) return;

  const hours = (seconds) => (seconds % 3600 === 0 || seconds > 360000 ? Math.round(seconds / 3600) : +(seconds / 3600).toFixed(2));
  const figure = (value) => {
    if (value === null || value === undefined) return "–";
    if (data.duration) return value === 0 ? "0" : `${hours(value)} h`;
    return Number.isInteger(value) ? value.toLocaleString("en") : String(+value.toPrecision(6));
  };
  const instant = (seconds) => new Date(seconds * 1000).toISOString().slice(0, 16).replace("T", " ");
  const only = (outcome) => data.value.map((value, i) => (data.outcome[i] === outcome ? value : null));

  const diamond = (u, series) => {
    const path = new Path2D();
    const r = 5 * devicePixelRatio;
    u.data[series].forEach((value, i) => {
      if (value === null) return;
      const x = u.valToPos(u.data[0][i], "x", true);
      const y = u.valToPos(value, "y", true);
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
      axes: [{ ...axis, space: 90, values: (u, ticks) => ticks.map((tick) => (tick % 86400 ? instant(tick).slice(5) : instant(tick).slice(0, 10))) }, { ...axis, size: 70, values: (u, ticks) => ticks.map(figure) }],
      series: [
        { label: "Window", value: (u, v) => (v === null ? "–" : instant(v)) },
        { label: "Value", stroke: color("accent"), width: 1.5, points: { show: false }, spanGaps: true, value: (u, v) => figure(v) },
        { label: "held", stroke: color("accent"), width: 0, points: { show: true, size: 6, fill: color("accent"), stroke: color("accent") }, paths: () => null, value: () => "" },
        { label: "broken", stroke: color("fail"), fill: color("fail"), width: 1, points: { show: false }, paths: diamond, value: () => "" },
        bound("at least"), bound("at most"),
      ],
    }, [data.start, data.value, only("held"), data.was, data.low, data.high], place);
    chart.root.querySelectorAll(".u-legend .u-series").forEach((row, i) => {
      const isEmptyBound = (i === 4 && data.low.every((v) => v === null)) || (i === 5 && data.high.every((v) => v === null));
      if (i === 2 || i === 3 || isEmptyBound) row.hidden = true;
    });
    return chart;
  };

  let chart = draw();
  assayOnThemeChange(() => { chart.destroy(); chart = draw(); });
  new ResizeObserver(() => chart.setSize({ width: place.clientWidth, height: 250 })).observe(place);

  const rows = document.getElementById("history-rows");
  for (let i = data.start.length - 1; i >= 0; i -= 1) {
    const row = rows.insertRow();
    const mended = data.outcome[i] === "held" && data.was[i] !== null;
    const outcome = mended ? `held, was broken at ${figure(data.was[i])}` : data.outcome[i];
    [instant(data.start[i]), figure(data.value[i]), outcome].forEach((text, column) => {
      const cell = row.insertCell();
      cell.textContent = text;
      if (column === 1) cell.className = "num";
    });
  }
})();
