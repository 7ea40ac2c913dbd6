// The view, the position in it, and small helpers that every other file uses.

const view = JSON.parse(document.getElementById("view").textContent);
const MARKS = { yes: "✓", no: "✗", open: "?" };
const SPEEDS = [1, 3, 8, 20, 60];
const listeners = [];

const state = {
  position: 0,
  active: 0,
  playing: false,
  speed: 8,
  message: null,
  tour: null,
  selected: view.runs.map((run) => firstCheat(run)),
};

// An element with attributes and children; text is always text, never markup.
function el(tag, attributes = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else if (value === true) node.setAttribute(name, "");
    else if (value !== false && value != null) node.setAttribute(name, value);
  }
  node.append(...children.flat().filter((child) => child != null && child !== false));
  return node;
}

function svg(tag, attributes = {}, ...children) {
  const node = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) if (value != null) node.setAttribute(name, value);
  node.append(...children.flat().filter((child) => child != null));
  return node;
}

// HTML from the specification: made by a Markdown renderer that lets no raw HTML through.
function prose(html, attributes = {}) {
  const node = el("div", { class: "prose", ...attributes });
  node.innerHTML = html;
  return node;
}

function firstCheat(run) {
  const agent = run.agents.findIndex((one) => one.role === "byzantine");
  return agent >= 0 ? agent : (run.divergences[0]?.agent ?? 0); // divergences are in their order in time
}

function plural(count, word) {
  return `${count} ${word}${count === 1 ? "" : "s"}`;
}

// A table that can be scrolled sideways where it does not fit.
function table(name, heads, rows, kind = "plain") {
  return el("div", { class: "scroll", role: "region", "aria-label": name },
    el("table", { class: kind }, el("thead", {}, el("tr", {}, heads.map((head) => heading(head)))), el("tbody", {}, rows)));
}

// Meanings of column heads, for hover and for screen readers.
const HEADS = {
  times: "how often the alarm was raised, by all agents together",
  "raised by": "the honest agents that raise it",
  "caused by": "whose lie is behind it, and in which phase",
  clause: "the clause of the specification that demands it",
  "first in": "the first round after which it is raised",
  "what the checks can see": "which checks of honest agents can notice it, and which cannot",
  "messages per agent": "messages that an agent sends in this phase, on average",
  "numbers per agent": "numbers in all messages that an agent sends in this phase, on average",
  "last agreed": "the last item of this agent that is as the specification demands",
  expected: "what the specification demands",
  found: "what the recording has",
};

function heading(name) {
  const meaning = HEADS[name];
  return el("th", { scope: "col", title: meaning }, name, meaning && el("span", { class: "unseen" }, `: ${meaning}`));
}

// Mark what is wider than its place, and let the keyboard scroll it.
function fitTables() {
  const fit = (box) => {
    const wide = box.scrollWidth > box.clientWidth + 1;
    box.classList.toggle("wide", wide);
    if (wide) box.tabIndex = 0;
    else box.removeAttribute("tabindex");
  };
  const watch = new ResizeObserver((entries) => entries.forEach((entry) => fit(entry.target)));
  for (const box of document.querySelectorAll(".scroll")) { fit(box); watch.observe(box); }
}

// "agent 1", "agents 1 and 2", "agents 1, 2 and 3"
function agentWords(agents) {
  const all = agents.map(String);
  return all.length === 1 ? `agent ${all[0]}` : `agents ${all.slice(0, -1).join(", ")} and ${all.at(-1)}`;
}

// The same with a capital letter at its beginning.
function sentence(text) {
  return text.charAt(0).toUpperCase() + text.slice(1);
}

// Texts as sentences, one after the other: each with a capital letter and one full stop.
function sentences(texts) {
  return texts.map((text) => sentence(text).replace(/[.\s]*$/, ".")).join(" ");
}

function names(agents) {
  return agents.length ? agents.join(", ") : "nobody";
}

// The kept round of a run at the common position; a shorter run stays at its last one.
function placeOf(run) {
  return Math.min(state.position, run.rounds.length - 1);
}

function shownRuns() {
  return view.layout === "tabs" ? [view.runs[state.active]] : view.runs;
}

function lastPosition() {
  return Math.max(0, ...shownRuns().map((run) => run.rounds.length - 1));
}

function neighbours(run, agent) {
  return (run.adjacent ||= run.agents.map((_, v) =>
    run.edges.filter(([a, b]) => a === v || b === v).map(([a, b]) => (a === v ? b : a)).sort((a, b) => a - b),
  ))[agent];
}

// The message on a directed edge, as an index into the table.
function messageOn(run, round, sender, receiver) {
  const other = round.edges.find((edge) => edge.sender === sender && edge.receiver === receiver);
  return other ? other.message : round.said[sender];
}

// Whether the oracle found that this message is not what the specification demands.
function diverges(run, round, sender, receiver) {
  return run.divergences.some((one) => one.said && one.agent === sender && one.index === round.index && (one.receiver == null || one.receiver === receiver));
}

// The divergence of an agent before this round; from then on the oracle does not judge what it says.
function leftBefore(run, round, agent) {
  return run.divergences.find((one) => one.agent === agent && one.index < round.index);
}

// The distinct messages of a sender, the commonest first; `altered` if a message is known to be
// wrong, `diverges` if the oracle found it, `left` if nobody judges the sender any more.
function variants(run, round, sender) {
  const groups = new Map();
  const left = leftBefore(run, round, sender);
  for (const receiver of neighbours(run, sender)) {
    const message = messageOn(run, round, sender, receiver);
    const wrong = diverges(run, round, sender, receiver);
    const key = `${message}|${wrong}`;
    if (!groups.has(key)) groups.set(key, { message, diverges: wrong, receivers: [] });
    groups.get(key).receivers.push(receiver);
  }
  return [...groups.values()]
    .sort((a, b) => b.receivers.length - a.receivers.length)
    .map((group, place) => ({
      ...group,
      letter: String.fromCharCode(65 + (place % 26)),
      altered: group.diverges || group.message !== round.said[sender],
      left,
    }));
}

function cheaters(run, round) {
  return [...new Set(round.edges.map((edge) => edge.sender))].map((sender) => ({
    sender,
    words: variants(run, round, sender),
  }));
}

function alarmsUntil(run, index, agent) {
  return run.alarms.filter((alarm) => alarm.index <= index && (agent == null || alarm.agent === agent));
}

function phaseOf(run, round) {
  return run.phases[round.phase];
}

function roundName(run, round) {
  const phase = phaseOf(run, round);
  return `Round ${round.index + 1} of ${run.total_rounds}: ${phase.title}, ${round.number} of ${phase.rounds}`;
}

function listen(listener) {
  listeners.push(listener);
}

function changed() {
  for (const listener of listeners) listener();
}

function goTo(position) {
  const next = Math.max(0, Math.min(lastPosition(), position));
  if (next === state.position) return;
  state.position = next;
  changed();
}

function goToIndex(run, index) {
  const place = run.rounds.findIndex((round) => round.index >= index);
  goTo(place < 0 ? run.rounds.length - 1 : place);
}

function select(runNumber, agent) {
  state.selected[runNumber] = agent;
  changed();
}

// Positions at which something happens: somebody cheats for the first time in a phase, diverges, or has an alarm.
function events(run) {
  return (run.events ||= (() => {
    const found = new Set();
    const cheated = new Set();
    const alarmed = new Set(run.alarms.map((alarm) => alarm.index));
    run.rounds.forEach((round, place) => {
      if (round.edges.length && !cheated.has(round.phase)) {
        cheated.add(round.phase);
        found.add(place);
      }
      if (alarmed.has(round.index) || run.divergences.some((one) => one.index === round.index)) found.add(place);
    });
    return [...found].sort((a, b) => a - b);
  })());
}
