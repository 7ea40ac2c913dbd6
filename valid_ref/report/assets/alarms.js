// The alarms over time, a lane per agent, and every reason with its clause.

const FAMILIES = [
  { name: "messages and norms", glyph: "▲", kind: "norm", reasons: ["MISSING_MESSAGE", "MALFORMED_MESSAGE", "OUT_OF_RANGE", "OWN_UPDATE_OUT_OF_RANGE", "MODEL_NORM", "GRADIENT_NORM"] },
  { name: "broadcasts", glyph: "◆", kind: "broadcast", reasons: ["UNKNOWN_TAG", "MALFORMED_VALUE", "DIFFERENT_VALUE", "NO_VALUE", "EARLY_VALUE", "LATE_VALUE", "OPENING_MISMATCH", "DIGEST_MISMATCH"] },
  { name: "hashes and relations", glyph: "■", kind: "hash", reasons: ["INCONSISTENT_HASHES", "BROKEN_RELATION", "SELF_MISMATCH", "RECORD_MISMATCH"] },
  { name: "estimates", glyph: "●", kind: "estimate", reasons: ["INCONSISTENT_ESTIMATES", "SELF_ESTIMATE_MISMATCH", "NOT_OPTIMAL", "TOO_HETEROGENEOUS", "WRONG_TOTAL"] },
  { name: "an alarm of a neighbour", glyph: "⟩", kind: "spread", reasons: ["NEIGHBOUR_ALARM"] },
];

function familyOf(alarm) {
  return FAMILIES.find((family) => family.reasons.includes(alarm.reason)) || FAMILIES[0];
}

function alarmsPart(run, number) {
  const heading = el("h2", {}, "Alarms over time");
  const none = run.alarms.length ? null : el("p", {}, "No honest agent raises an alarm in this run.");
  if (none && !run.divergences.length) return el("section", { class: "card", "data-part": "alarms" }, heading, none);
  const cursor = el("div", { class: "lane-cursor" });
  const share = (index) => `${((index + 0.5) / run.total_rounds) * 100}%`;
  const bands = run.phases.map((phase, place) => el("div", {
    class: `band ${place % 2 ? "odd" : "even"}`,
    style: `left:${(phase.first / run.total_rounds) * 100}%;width:${(phase.rounds / run.total_rounds) * 100}%`,
  }));
  const lanes = run.agents.map((agent, v) => {
    const marks = new Map();
    for (const alarm of run.alarms.filter((one) => one.agent === v)) {
      const family = familyOf(alarm);
      const key = `${alarm.index}|${family.kind}`;
      const mark = marks.get(key) || { index: alarm.index, family, count: 0, reasons: new Set() };
      mark.count += alarm.count;
      mark.reasons.add(alarm.reason);
      marks.set(key, mark);
    }
    const sorted = [...marks.values()].sort((a, b) => a.index - b.index);
    const crowded = (mark, place) => place > 0 && (mark.index - sorted[place - 1].index) / run.total_rounds < 0.012;
    return el("div", { class: "lane" }, el("span", { class: "lane-name" }, agent.role === "byzantine" ? `${v} ◇` : String(v)),
      el("div", { class: "lane-track" }, run.deviations.filter((one) => one.sender === v).map((one) => el("button", {
        type: "button", tabindex: -1, class: "lane-lie", style: `left:${(one.first / run.total_rounds) * 100}%;width:${((one.last + 1 - one.first) / run.total_rounds) * 100}%`,
        title: `Agent ${v}, rounds ${one.first + 1} to ${one.last + 1}: ${one.kind}`, onclick: () => goToMessage(number, one.message, v),
      })), run.divergences.filter((one) => one.agent === v).map((one) => el("button", { type: "button", tabindex: -1, class: "lane-mark diverge", style: `left:${share(one.index)}`, title: `Agent ${v} leaves the specification in round ${one.index + 1}: ${one.what}`, onclick: () => { select(number, v); goToIndex(run, one.index); } }, "✗")), sorted.map((mark, place) => el("button", {
        type: "button", tabindex: -1, class: `lane-mark ${mark.family.kind}${crowded(mark, place) ? " beside" : ""}`, style: `left:${share(mark.index)}`,
        title: `Agent ${v}, round ${mark.index + 1}: ${[...mark.reasons].join(", ")} (${mark.count})`,
        onclick: () => { select(number, v); goToIndex(run, mark.index); },
      }, mark.family.glyph))));
  });
  const chart = el("div", { class: "lanes", "aria-hidden": "true" },
    el("div", { class: "lane-ground" }, ...bands, cursor), ...lanes);
  const names = el("p", { class: "lane-phases muted" }, "Bands from left to right: ", run.phases.map((phase) =>
    `${phase.title} (${phase.rounds === 1 ? `round ${phase.first + 1}` : `rounds ${phase.first + 1} to ${phase.first + phase.rounds}`})`).join(", "), ".");
  const draw = () => { cursor.style.left = share(run.rounds[placeOf(run)].index); };
  listen(draw);
  draw();
  const used = FAMILIES.filter((family) => run.alarms.some((alarm) => familyOf(alarm) === family));
  const key = el("ul", { class: "legend" }, run.deviations.length > 0 && el("li", {}, el("span", { class: "lane-lie still", "aria-hidden": "true" }), "deviates"), run.divergences.length > 0 && el("li", {}, el("span", { class: "lane-mark diverge still", "aria-hidden": "true" }, "✗"), "leaves the specification"), used.map((family) => el("li", {}, el("span", { class: `lane-mark still ${family.kind}`, "aria-hidden": "true" }, family.glyph), family.name)));
  return el("section", { class: "card", "data-part": "alarms" }, heading, el("p", { class: "muted" }, "A row for each agent, rounds from left to right. Checks are made when a phase ends."), none, chart, names, key, none ? null : reasonTable(run, number));
}

function reasonTable(run, number) {
  const groups = new Map();
  for (const alarm of run.alarms) {
    const group = groups.get(alarm.reason) || { ...alarm, agents: new Set(), total: 0 };
    group.agents.add(alarm.agent);
    group.total += alarm.count;
    groups.set(alarm.reason, group);
  }
  const rows = [...groups.values()].map((group) => el("tr", {},
    el("th", { scope: "row" }, el("code", {}, group.reason)),
    el("td", {}, group.meaning),
    el("td", {}, clauseLink(group.clause)),
    el("td", {}, group.agents.size > 8 ? `${group.agents.size} agents` : agentWords([...group.agents])),
    el("td", { class: "figure" }, String(group.total)),
    el("td", {}, behind(run, group), group.cause && [" ", el("button", { type: "button", class: "quiet small cause", onclick: () => goToMessage(number, group.cause) }, "show the message")]),
    el("td", { class: "figure" }, el("button", { type: "button", class: "quiet small", onclick: () => goToAlarm(number, group) }, `round ${group.index + 1}`))));
  return el("div", { class: "scroll", role: "region", "aria-label": "Reasons of alarms" }, el("table", { class: "plain" }, el("caption", {}, "Reasons"),
    el("thead", {}, el("tr", {}, ["reason", "what it means", "clause", "raised by", "times", "caused by", "first in"].map((name) => heading(name)))),
    el("tbody", {}, rows)));
}
