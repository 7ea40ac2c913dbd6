// What happens in the round, and everything about the chosen agent.

function roundCard(run, number) {
  const title = el("h2", {});
  const about = el("p", { class: "muted" });
  const events = el("ul", { class: "events" });
  function draw() {
    const round = run.rounds[placeOf(run)];
    const phase = phaseOf(run, round);
    title.textContent = `${phase.title}, round ${round.number} of ${phase.rounds}`;
    about.textContent = phase.about;
    events.replaceChildren(...happenings(run, round).map(({ mark, kind, text, link }) =>
      el("li", { class: kind }, el("span", { class: "mark", "aria-hidden": "true" }, mark), el("span", {}, text, link && [" ", link(number)]))));
  }
  listen(draw);
  draw();
  return el("section", { class: "card round-card", "data-part": "rounds" }, title, about, events);
}

function happenings(run, round) {
  const found = run.divergences.filter((one) => one.index === round.index).map((one) => ({
    mark: "✗", kind: "diverge", text: `Agent ${one.agent} leaves the specification here${one.receiver == null ? "" : `, towards agent ${one.receiver}`}: ${one.what} (${one.clause})`,
    link: effectLink(run, run.deviations.find((deviation) => deviation.divergence === run.divergences.indexOf(one))),
  }));
  found.push(...cheaters(run, round).map(({ sender, words }) => {
    const several = words.length > 1;
    const told = words.slice(0, 6).map((word) => {
      const message = run.messages[word.message];
      return `${several ? `${message.word || word.letter} ` : ""}to ${agentWords(word.receivers)}`;
    });
    const more = words.length > 6 ? `, and ${words.length - 6} more` : "";
    const link = effectLink(run, run.deviations.find((one) => one.sender === sender && one.phase === round.phase));
    const seen = fitWords(round.edges.filter((edge) => edge.sender === sender));
    return several
      ? { mark: "≠", kind: "cheat", text: `Agent ${sender} says ${words.length} different things: ${told.join("; ")}${more}.${seen}`, link }
      : { mark: "≠", kind: "cheat", text: `Agent ${sender} does not say what honest code would say.${seen}`, link };
  }));
  const reasons = new Map();
  for (const alarm of run.alarms.filter((one) => one.index === round.index)) {
    const key = `${alarm.reason}|${alarm.meaning}`;
    if (!reasons.has(key)) reasons.set(key, { agents: new Set(), first: alarm });
    reasons.get(key).agents.add(alarm.agent);
  }
  for (const [key, { agents, first }] of reasons) {
    const [reason, meaning] = key.split("|");
    const who = agents.size > 6 ? `${agents.size} agents` : agentWords([...agents]);
    found.push({ mark: "!", kind: "alarm", text: `${sentence(who)}: ${meaning} (${reason})`, link: (number) => causeButton(number, first) });
  }
  return found.length ? found : [quietly(run, round)];
}

// A round in which nothing is known to be wrong; after a divergence that does not say much.
function quietly(run, round) {
  const silent = run.agents.map((_agent, v) => v).filter((v) => run.messages[round.said[v]].word === "silent");
  const left = run.agents.map((_agent, v) => v).filter((v) => leftBefore(run, round, v));
  const known = !left.length && !silent.length && run.agents.every((agent) => agent.role === "honest");
  const said = known ? "Everybody says what it should" : silent.length ? `${sentence(agentWords(silent))} ${silent.length === 1 ? "says" : "say"} nothing` : "Nothing unusual is said";
  const unjudged = left.length ? ` ${sentence(agentWords(left))} left the specification before, and what ${left.length === 1 ? "it says" : "they say"} since is not judged.` : "";
  return { mark: left.length ? "?" : "✓", kind: left.length ? "unjudged" : "fine", text: `${said}, and nobody raises an alarm.${unjudged}` };
}

// A link from a deviation to the first alarm that it caused.
function effectLink(run, deviation) {
  if (!deviation) return null;
  const alarms = deviation.alarms.map((place) => run.alarms[place]);
  if (!alarms.length) return () => el("span", { class: "muted" }, "It causes no alarm.");
  const first = alarms.reduce((least, alarm) => (alarm.index < least.index ? alarm : least));
  const total = alarms.reduce((sum, alarm) => sum + alarm.count, 0);
  return (number) => el("button", { type: "button", class: "quiet small effect", onclick: () => goToAlarm(number, first) }, `${plural(total, "alarm")} from this ${run.phases[deviation.phase].title.toLowerCase()}, first in round ${first.index + 1}`);
}

// Whether lies in learning follow from their gradients, in words.
function fitWords(edges) {
  const known = edges.filter((edge) => edge.fits != null);
  if (!known.length) return "";
  const fitting = known.filter((edge) => edge.fits).length;
  if (fitting === known.length) return ` ${known.length === 1 ? "It" : "Each"} follows from the step that goes with it, so no single neighbour can see it.`;
  return fitting ? " Some do not follow from the step that goes with them." : " It does not follow from the step that goes with it: under keys that nobody foresees, an honest report of it breaks the relation.";
}

function agentCard(run, number) {
  const choose = el("select", { id: `agent-${number}`, onchange: (event) => select(number, Number(event.target.value)) },
    run.agents.map((agent, v) => el("option", { value: v }, `Agent ${v}${agent.role === "byzantine" ? " (Byzantine)" : ""}`)));
  const body = el("div", { class: "agent-body" });
  function draw() {
    const v = state.selected[number];
    const round = run.rounds[placeOf(run)];
    choose.value = String(v);
    body.replaceChildren(...agentParts(run, number, round, v));
  }
  listen(draw);
  draw();
  return el("section", { class: "card agent-card", "data-part": "agent" },
    el("div", { class: "card-head" }, el("label", { for: `agent-${number}` }, "Selected agent"), choose), body);
}

function agentParts(run, number, round, v) {
  const agent = run.agents[v];
  const alarms = agent.role === "byzantine" ? [] : alarmsUntil(run, round.index, v);
  const chips = [el("span", { class: `chip ${agent.role}`, title: { honest: "follows the protocol", byzantine: "may say anything", unknown: "the recording does not say whether it follows the protocol" }[agent.role] }, { honest: "honest", byzantine: "Byzantine", unknown: "role not recorded" }[agent.role])];
  const total = alarms.reduce((sum, alarm) => sum + alarm.count, 0);
  if (agent.role !== "byzantine") chips.push(total ? el("span", { class: "chip alarm" }, `! ${plural(total, "alarm")}`) : el("span", { class: "chip fine" }, "no alarm so far"));
  const diverging = run.divergences.find((one) => one.agent === v);
  if (diverging) chips.push(el("span", { class: "chip diverge" }, `✗ leaves the specification in round ${diverging.index + 1}`));
  if (agent.verdict) chips.push(el("span", { class: `chip ${agent.verdict === "valid" ? "fine" : "alarm"}` }, `ends ${agent.verdict}`));
  const parts = [el("p", { class: "chips" }, chips)];
  if (round.beliefs[v]) parts.push(row("Believes", round.beliefs[v]));
  if (agent.end && placeOf(run) === run.rounds.length - 1) parts.push(row("Ends with", agent.end));
  parts.push(...said(run, round, v), heard(run, round, v));
  if (alarms.length) {
    parts.push(el("h3", {}, "Its alarms so far"), el("ul", { class: "alarm-list" }, alarms.slice(0, 30).map((alarm) => alarmItem(run, number, alarm))));
    if (alarms.length > 30) parts.push(el("p", { class: "muted" }, `and ${plural(alarms.length - 30, "more kind")} of alarms`));
  }
  return parts;
}

function row(name, text) {
  return el("p", { class: "row" }, el("b", {}, name), " ", text);
}

function said(run, round, v) {
  const words = variants(run, round, v);
  if (words.length === 1 && !words[0].altered) return [row("Says to all", run.messages[words[0].message].text)];
  const list = words.map((word) => el("li", {},
    el("span", { class: `tag${word.altered ? " altered" : ""}`, title: tagMeaning(words, word), role: "img", "aria-label": tagMeaning(words, word) }, words.length > 1 ? word.letter : "≠"),
    ` to ${names(word.receivers)}: ${run.messages[word.message].text}`, fitMark(round, v, word)));
  return [el("p", { class: "row" }, el("b", {}, words.length > 1 ? `Says ${words.length} different things` : words[0].diverges ? "Says, in place of what the specification demands" : "Says, in place of what honest code would")), el("ul", { class: "said" }, list)];
}

function fitMark(round, sender, word) {
  const edge = round.edges.find((one) => one.sender === sender && one.message === word.message && one.fits != null);
  if (!edge) return null;
  return el("span", { class: `fit ${edge.fits ? "yes" : "no"}`, title: edge.fits ? "The model follows from the step and from what the agent received: no check of this edge can see the lie." : "The model does not follow from the step and from what the agent received: under keys that nobody foresees, an honest report of it breaks the relation." }, edge.fits ? "follows from its step" : "does not follow from its step");
}

// What the letter or sign beside a message means.
function tagMeaning(words, word) {
  const truth = word.diverges ? "not what the specification demands" : word.altered ? "not what honest code says"
    : word.left ? `not judged, because the sender left the specification in round ${word.left.index + 1}` : "what honest code says";
  return words.length > 1 ? `${word.letter}: one of ${words.length} different messages of this sender; ${truth}` : truth;
}

function heard(run, round, v) {
  const rows = neighbours(run, v).map((sender) => {
    const words = variants(run, round, sender);
    const word = words.find((one) => one.receivers.includes(v));
    const tag = words.length > 1 ? word.letter : word.altered ? "≠" : word.left ? "?" : "=";
    return el("tr", { class: word.altered ? "altered" : "" }, el("th", { scope: "row" }, `from ${sender}`),
      el("td", {}, el("span", { class: `tag${word.altered ? " altered" : ""}`, title: tagMeaning(words, word), role: "img", "aria-label": tagMeaning(words, word) }, tag)),
      el("td", {}, run.messages[word.message].text));
  });
  return el("details", { class: "heard", open: rows.length <= 5 }, el("summary", {}, `Receives in this round (${rows.length})`),
    el("table", {}, el("tbody", {}, rows)));
}

function alarmItem(run, number, alarm) {
  const whom = alarm.sender != null ? ` from agent ${alarm.sender}` : "";
  const about = alarm.about ? ` ${alarm.about}` : "";
  const times = alarm.count > 1 ? ` (${alarm.count} times)` : "";
  return el("li", {}, el("code", {}, alarm.reason), `${whom}${times}: ${alarm.meaning}`,
    el("span", { class: "muted" }, `${about}; round ${alarm.index + 1} `), clauseLink(alarm.clause), el("br"), causeButton(number, alarm));
}

function clauseLink(identifier) {
  return el("a", { href: `#clause-${identifier}`, class: "clause-link", title: `Clause ${identifier} of the specification`,
    onclick: (event) => { event.preventDefault(); openClause(identifier); } }, identifier);
}

// Open the text of a clause; whether the page has it.
function openClause(identifier) {
  const clause = document.getElementById(`clause-${identifier}`);
  if (!clause) return false;
  clause.open = true;
  clause.querySelector("summary").focus();
  clause.scrollIntoView({ block: "center" });
  return true;
}
