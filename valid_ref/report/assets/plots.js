// Curves of learning and the statistics against their thresholds, drawn by uPlot.

const plots = [];

function ink(name) {
  return getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
}

function short(value) {
  if (value == null) return "unknown";
  if (value === 0) return "0";
  const size = Math.abs(value);
  if (size >= 1e-3 && size < 1e4) return String(Number(value.toPrecision(3)));
  return value.toExponential(1).replace("e+", "e");
}

// Two numbers with so many digits that they differ, if they do.
function apart(one, other) {
  if (one === other || short(one) !== short(other)) return [short(one), short(other)];
  for (let digits = 4; digits < 17; digits += 1) {
    const both = [one, other].map((value) => String(Number(value.toPrecision(digits))));
    if (both[0] !== both[1]) return both;
  }
  return [String(one), String(other)];
}

function plotsPart(run, number) {
  const series = run.series;
  if (!series) return null;
  const figures = [];
  const last = (values) => [...values].reverse().find((value) => value != null);
  const first = (values) => values.find((value) => value != null);
  const curves = [];
  if (series.distances) {
    const honest = run.agents.map((agent, v) => [agent, v]).filter(([agent]) => agent.role !== "byzantine").map(([, v]) => v);
    series.distances.forEach((values, place) => curves.push({ values, kind: "faint", agent: honest[place], label: `agent ${honest[place]}` }));
    curves.push({ values: series.distance, kind: "main", label: "mean squared distance" });
  }
  curves.push({ values: series.consensus, kind: "second", label: "consensus error" });
  const told = series.distance ? `The mean squared distance to the ${series.goal} goes from ${short(first(series.distance))} to ${short(last(series.distance))}; ` : "";
  figures.push(figure(run, number, {
    title: series.distance ? `Distance to the ${series.goal}, and consensus error` : "Consensus error",
    caption: `${told ? `${told}the consensus error` : "The consensus error goes"} from ${short(first(series.consensus))} to ${short(last(series.consensus))}. Thin lines are single agents.`,
    rounds: series.rounds, curves,
  }));
  for (const statistic of series.statistics) {
    const passes = statistic.final != null && statistic.final <= statistic.threshold;
    const told = statistic.final == null ? [] : apart(statistic.final, statistic.threshold);
    const verdict = statistic.final == null
      ? "It was not computed, because estimates are missing."
      : `Checked at the end: ${told.join(passes ? " ≤ " : " > ")}, ${passes ? "passes" : "alarm"}.`;
    const highest = Math.max(...statistic.course.filter((value) => value != null), 0);
    const far = statistic.threshold > 1e3 * highest;
    figures.push(figure(run, number, {
      title: statistic.name, caption: `The ${statistic.title}, had learning stopped there. ${verdict}${far ? " The threshold is far above the curve and not drawn." : ""}`, verdict: statistic.final == null ? "open" : passes ? "yes" : "no",
      rounds: series.rounds, curves: [{ values: statistic.course, kind: "main", label: "statistic" }], threshold: far ? null : statistic.threshold,
    }));
  }
  const changed = run.divergences.length ? el("p", { class: "muted" }, "Curves and statistics are computed from the messages as they were recorded, with those that diverge; the alarms are those that the recording has.") : null;
  return el("section", { class: "card", "data-part": "learning" }, el("h2", {}, "Learning"), changed, el("div", { class: "plots" }, figures));
}

function figure(run, number, { title, caption, verdict, rounds, curves, threshold, limit = "threshold" }) {
  const target = el("div", { class: "plot", role: "img", "aria-label": `${title}. ${caption}` });
  const key = el("ul", { class: "legend plot-key", "aria-hidden": "true" },
    curves.filter((curve) => curve.kind !== "faint").map((curve) => el("li", {}, el("span", { class: `dash ${curve.kind}` }), curve.label)),
    threshold != null && el("li", {}, el("span", { class: "dash limit" }), limit));
  plots.push({ run, number, target, rounds, curves, threshold, chart: null });
  return el("figure", { class: "plot-figure" }, el("h3", {}, title, verdict && el("span", { class: `verdict ${verdict}` }, ` ${MARKS[verdict]}`)), key, target, el("figcaption", {}, caption));
}

// Draw, or draw anew after a change of theme or width; curves are on a logarithmic scale.
function drawPlots() {
  for (const plot of plots) {
    plot.chart?.destroy();
    const width = plot.target.clientWidth;
    if (!width) { plot.chart = null; continue; }
    plot.chart = new uPlot(options(plot, width), columns(plot), plot.target);
  }
}

function columns(plot) {
  const positive = (values) => values.map((value) => (value != null && value > 0 ? value : null));
  const limit = plot.threshold == null ? [] : [plot.rounds.map(() => plot.threshold)];
  return [plot.rounds, ...plot.curves.map((curve) => positive(curve.values)), ...limit];
}

function options(plot, width) {
  const chosen = state.selected[plot.number];
  const styles = plot.curves.map((curve) => ({
    label: curve.label, points: { show: plot.rounds.length < 2 },
    stroke: { main: ink("accent"), second: ink("second"), faint: curve.agent === chosen ? ink("ink") : ink("faint") }[curve.kind],
    width: curve.kind === "faint" ? (curve.agent === chosen ? 1.4 : 0.7) : 2.2, dash: curve.kind === "second" ? [7, 4] : undefined,
  }));
  if (plot.threshold != null) styles.push({ label: "threshold", stroke: ink("alarm"), width: 1.6, dash: [2, 3], points: { show: false } });
  const axis = { stroke: ink("muted"), grid: { stroke: ink("grid"), width: 1 }, ticks: { stroke: ink("grid"), width: 1 }, font: "12px system-ui, sans-serif" };
  return {
    width, height: 210, legend: { show: false }, cursor: { show: false }, scales: { x: { time: false }, y: { distr: 3, log: 10 } },
    axes: [{ ...axis, label: "learning round", labelSize: 18, labelFont: "12px system-ui, sans-serif", size: 34 }, { ...axis, size: 58, values: (_u, ticks) => ticks.map((tick) => (tick == null ? "" : short(tick))) }],
    series: [{}, ...styles], hooks: { draw: [(chart) => cursorLine(chart, plot)] },
  };
}

function cursorLine(chart, plot) {
  const round = plot.run.rounds[placeOf(plot.run)];
  const learning = plot.run.phases.find((phase) => phase.name === "LearnModel");
  const t = Math.max(plot.rounds[0], Math.min(plot.rounds.at(-1), round.index - (learning ? learning.first : 0) + 1));
  const x = Math.round(chart.valToPos(t, "x", true));
  const context = chart.ctx;
  context.save();
  context.strokeStyle = ink("ink");
  context.globalAlpha = 0.55;
  context.lineWidth = devicePixelRatio;
  context.beginPath();
  context.moveTo(x, chart.bbox.top);
  context.lineTo(x, chart.bbox.top + chart.bbox.height);
  context.stroke();
  context.restore();
}

let plotFrame = 0;
function redrawCursors() {
  cancelAnimationFrame(plotFrame);
  plotFrame = requestAnimationFrame(() => plots.forEach((plot) => plot.chart?.redraw(false)));
}
