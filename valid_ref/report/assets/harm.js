// What an attack does without validation, beside the same run with it.

function harmPart(harm) {
  const sides = harm.sides.map((side) => el("div", { class: `side ${side.tone}` },
    el("h3", {}, el("span", { class: "mark", "aria-hidden": "true" }, side.tone === "good" ? "✓" : "✗"), side.title),
    el("p", {}, side.text), endsPart(side, harm)));
  const last = (values) => [...values].reverse().find((value) => value != null);
  const curves = figure(view.runs[0], 0, {
    title: "Distance to the best number, with the cheater and without",
    caption: `Mean squared distance of the honest agents. It ends at ${short(last(harm.attacked))} with the cheater and at ${short(last(harm.honest))} without; below ${short(harm.criterion)} is success.`,
    rounds: harm.rounds, threshold: harm.criterion, limit: "success is below",
    curves: [{ values: harm.attacked, kind: "main", label: "one agent cheats" }, { values: harm.honest, kind: "second", label: "everybody honest" }],
  });
  return el("section", { class: "card", "data-part": "harm" }, el("h2", {}, "What the attack does, without and with validation"),
    el("p", { class: "muted" }, harm.text), el("div", { class: "sides" }, sides), curves);
}

// A line of numbers with a dot for each honest agent and the best number.
function endsPart(side, harm) {
  const values = side.ends.map((end) => end.model);
  const radius = Math.sqrt(harm.criterion);
  const low = Math.min(harm.optimum - 2 * radius, ...values);
  const high = Math.max(harm.optimum + 2 * radius, ...values);
  const place = (value) => 20 + ((value - low) / (high - low || 1)) * 360;
  const kept = side.tone === "bad";
  const stacked = new Map();
  const dots = [...side.ends].sort((a, b) => a.model - b.model).map((end) => {
    const column = Math.round(place(end.model) / 22);
    const level = stacked.get(column) || 0;
    stacked.set(column, level + 1);
    return svg("g", { transform: `translate(${place(end.model)},${52 - level * 21})`, class: `end ${kept ? "kept" : "dropped"}` },
      svg("circle", { r: 10 }), kept ? null : svg("path", { d: "M-7,-7 L7,7 M-7,7 L7,-7" }), svg("text", { "text-anchor": "middle", dy: "0.35em" }, String(end.agent)));
  });
  const words = side.ends.map((end) => `agent ${end.agent} at ${short(end.model)}`).join(", ");
  const levels = Math.max(...stacked.values());
  const top = 40 - levels * 21;
  return el("figure", { class: "ends" },
    svg("svg", { viewBox: `0 ${top} 400 ${100 - top}`, role: "img", "aria-label": `The best number is ${short(harm.optimum)}; ${words}` },
      svg("rect", { x: place(harm.optimum - radius), width: place(harm.optimum + radius) - place(harm.optimum - radius), y: top, height: 68 - top, class: "near" }),
      svg("line", { x1: 10, x2: 390, y1: 68, y2: 68, class: "axis" }),
      svg("path", { d: `M${place(harm.optimum)},68 l-6,12 h12 z`, class: "best" }),
      svg("text", { x: place(harm.optimum), y: 95, "text-anchor": "middle", class: "axis-word" }, `best: ${short(harm.optimum)}`), ...dots),
    el("figcaption", {}, kept ? "Where the honest agents end. In the shaded part an agent is near enough." : "The same models, crossed out where their agent has an alarm and does not use it."));
}
