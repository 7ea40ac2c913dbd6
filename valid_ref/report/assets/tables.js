// Outcome, checks, costs, divergences, facts and clauses.

function outcomePart(run) {
  const { outcome, tone, meaning, evidence } = run.outcome;
  const badge = { wrong: "✗", right: "✓", unknown: "?", failed: "✗" }[outcome] || outcome;
  const name = outcome.length === 1 ? `Outcome ${outcome}` : outcome === "failed" ? "Failed" : "";
  return el("section", { class: `card outcome ${tone}`, "data-part": "outcome" },
    el("div", { class: "outcome-head" }, el("span", { class: "outcome-badge", "aria-hidden": "true" }, badge),
      el("div", {}, el("h2", {}, run.label), el("p", { class: "outcome-meaning" }, name && el("b", {}, `${name}. `), meaning))),
    el("ul", { class: "evidence" }, evidence.map((one) => el("li", { class: one.holds },
      el("span", { class: "mark", "aria-label": { yes: "holds:", no: "does not hold:", open: "open:" }[one.holds], role: "img" }, MARKS[one.holds]),
      el("span", {}, one.condition, one.figures && el("span", { class: "muted" }, ` — ${one.figures}`))))));
}

function divergencesPart(run, number) {
  if (!run.divergences.length) return null;
  return el("section", { class: "card outcome bad" }, el("h2", {}, "Where the recording leaves the specification"),
    table("Divergences", ["agent", "where", "what", "clause", "expected", "found", "last agreed"], run.divergences.map((one) => el("tr", {}, el("th", { scope: "row" }, String(one.agent)),
      el("td", {}, one.where, " ", el("button", { type: "button", class: "quiet small", onclick: () => goToMessage(number, { index: one.index, sender: one.agent, receiver: one.receiver }, one.agent) }, `show round ${one.index + 1}`)), el("td", {}, one.what),
      el("td", {}, clauseLink(one.clause)), el("td", { class: "value" }, one.expected), el("td", { class: "value" }, one.found), el("td", {}, one.agreed)))));
}

function checksPart(run, number) {
  const checks = run.checks;
  if (!checks) return null;
  const failed = new Map(checks.failures.map((cell) => [`${cell.agent}/${cell.owner}`, cell]));
  const reports = new Map(checks.reports.map((cell) => [`${cell.agent}/${cell.reporter}`, cell]));
  const words = { H: "reports differ", R: "the relation is broken", S: "a report is not what the agent sent" };
  const key = (v, w) => {
    const cell = failed.get(`${v}/${w}`);
    if (!cell) return el("td", { class: "pass" }, el("span", { "aria-hidden": "true" }, "·"), el("span", { class: "unseen" }, "passes"));
    const title = `Agent ${v}, key of ${w}: ${cell.failed.map((letter) => words[letter]).join(", ")}; seen by ${plural(cell.by, "honest agent")}; ${cell.lies.length ? `because of what ${agentWords(cell.lies)} said` : "no message deviates"}`;
    return el("td", { class: "fail", title }, cell.failed.join(""), cell.lies.length > 0 && cell.lies.join() !== String(v) && el("sub", { "aria-hidden": "true" }, cell.lies.join(",")), el("span", { class: "unseen" }, title));
  };
  const differing = new Set(checks.agents.filter((v) => new Set(checks.reports.filter((cell) => cell.agent === v).map((cell) => cell.letters)).size > 1));
  const report = (v, w) => {
    const cell = reports.get(`${v}/${w}`);
    if (!cell) return el("td", { class: "none" }, "");
    const odd = cell.letters !== "A";
    const title = `Agent ${w} reports on agent ${v}: ${cell.letters === "-" ? "nothing" : cell.letters.length > 1 ? "different things to different neighbours" : odd ? "another report than the first" : "as the first reporter"}`;
    return el("td", { class: odd ? "fail" : "same", title }, cell.letters);
  };
  const bad = [...new Set(checks.failures.map((cell) => cell.agent))];
  const summary = bad.length ? `Checks fail for ${agentWords(bad)}.` : `All checks of ${checks.agents.length === 1 ? "the agent" : `all ${checks.agents.length} agents`} pass under all keys.`;
  const apart = differing.size ? `Reporters of ${agentWords([...differing])} do not agree.` : "All reporters of every agent agree.";
  return el("section", { class: "card", "data-part": "checks" }, el("h2", {}, "Hashes and relations"),
    el("p", { class: "muted" }, `Every agent's messages are hashed by its neighbours under the key of everybody. ${summary} ${apart}`),
    blame(run, number, checks),
    el("div", { class: "matrices" },
      matrix("Checks, by agent checked and owner of the key", "key of", checks.agents, checks.owners, key, "H reports differ, R relation broken, S not what was sent, · passes; a small number says whose lie it is if not the agent's own"),
      matrix("Reports, by agent reported on and reporter", "reporter", checks.agents, checks.owners, report, "the same letter is the same report; – no report; two letters: different things to different neighbours")));
}

// Whose lie is behind the failed checks of each agent, with a link to it.
function blame(run, number, checks) {
  const lies = new Map();
  for (const cell of checks.failures) {
    const known = lies.get(cell.agent) || { letters: new Set(), lies: new Set() };
    cell.failed.forEach((letter) => known.letters.add(letter));
    cell.lies.forEach((agent) => known.lies.add(agent));
    lies.set(cell.agent, known);
  }
  if (!lies.size) return null;
  const rows = [...lies].map(([v, found]) => {
    const who = [...found.lies];
    const own = who.length === 1 && who[0] === v;
    const told = run.deviations.find((one) => who.includes(one.sender) && one.alarms.length);
    const text = who.length ? (own ? "its own lie" : `the lie of ${agentWords(who)}`) : "no message deviates: the rule itself fails";
    return el("li", {}, el("b", {}, `Agent ${v}`), ` (${[...found.letters].join(", ")}): ${text} `, told && el("button", { type: "button", class: "quiet small", onclick: () => goToMessage(number, told.message, told.sender) }, "show it"));
  });
  return el("ul", { class: "blame", "aria-label": "Whose lie is behind failed checks" }, rows);
}

function matrix(caption, corner, rows, columns, cell, key) {
  return el("figure", {}, el("h3", { class: "matrix-title" }, caption), el("div", { class: "scroll", role: "region", "aria-label": caption }, el("table", { class: "matrix", "aria-label": caption },
    el("thead", {}, el("tr", {}, el("th", { scope: "col", class: "corner" }, corner), columns.map((w) => el("th", { scope: "col" }, String(w))))),
    el("tbody", {}, rows.map((v) => el("tr", {}, el("th", { scope: "row" }, `agent ${v}`), columns.map((w) => cell(v, w))))))),
    el("figcaption", {}, key));
}

function costsPart(run) {
  if (!run.costs.length) return null;
  const largest = Math.max(...run.costs.map((cost) => cost.scalars));
  const n = run.agents.length;
  const number = (value) => value.toLocaleString("en-GB", { maximumFractionDigits: 1 });
  return el("section", { class: "card" }, el("h2", {}, "What it costs"),
    table("Costs", ["phase", "rounds", "messages per agent", "numbers per agent", "numbers in all", "share"], run.costs.map((cost) => el("tr", {}, el("th", { scope: "row" }, cost.phase), el("td", { class: "figure" }, number(cost.rounds)),
        el("td", { class: "figure" }, number(cost.messages / n)), el("td", { class: "figure" }, number(cost.scalars / n)), el("td", { class: "figure" }, number(cost.scalars)),
        el("td", { class: "bar-cell" }, el("div", { class: "bar", style: `width:${Math.max(1, (cost.scalars / largest) * 100)}%`, role: "img", "aria-label": `${Math.round((cost.scalars / largest) * 100)} percent of the largest` })))), "plain costs"));
}

function factsPart(run) {
  const extra = [...run.notes.map((note) => ["note", note]), ...run.omitted.map((what) => ["a part only", what])];
  return el("section", { class: "card" }, el("h2", {}, "About this run"),
    el("dl", { class: "facts" }, [...run.facts, ...extra].flatMap(([name, value]) => [el("dt", {}, name), el("dd", {}, value)])));
}

function changesPart(changes) {
  return table("What the repair changes", ["", "as printed", "repaired"], changes.map((one) => el("tr", {}, el("th", { scope: "row" }, one.what), el("td", {}, one.printed), el("td", {}, one.repaired))));
}

function storyPart(story) {
  const side = (title, lines, wrong) => el("div", { class: `side ${wrong ? "bad" : "good"}` },
    el("h3", {}, el("span", { class: "mark", "aria-hidden": "true" }, wrong ? "✗" : "✓"), title),
    el("p", { class: "side-verdict" }, wrong ? "It goes wrong." : "No promise is broken."), el("pre", { tabindex: 0 }, lines.join("\n")));
  return [
    el("div", { class: "story" },
      el("div", { class: "card" }, el("h2", {}, "The setting"), el("p", {}, story.setting)),
      el("div", { class: "card outcome bad" }, el("h2", {}, "What went wrong"), el("p", {}, story.wrong)),
      el("div", { class: "card outcome good" }, el("h2", {}, "The repair"), el("p", {}, story.repair))),
    el("div", { class: "card" }, el("h2", {}, "What the repair changes"),
      changesPart(story.changes),
      el("div", { class: "sides" }, side("As printed", story.printed, story.printed_wrong), side("Repaired", story.repaired, story.repaired_wrong)),
      el("details", {}, el("summary", {}, `What the specification says of ${story.erratum} (severity: ${story.severity})`),
        el("h3", {}, "Printed"), prose(story.printed_html), el("h3", {}, "Wrong because"), prose(story.because_html), el("h3", {}, "Repair"), prose(story.repair_html))),
  ];
}

function glossaryPart() {
  return [el("h2", {}, "Clauses of the specification"), el("p", { class: "muted" }, "The normative text behind the alarms and checks of this page."),
    ...view.clauses.map((clause) => el("details", { id: `clause-${clause.identifier}`, class: "clause" },
      el("summary", {}, el("b", {}, clause.identifier), ` ${clause.kind}, ${clause.file}`), prose(clause.html)))];
}
