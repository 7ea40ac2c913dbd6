// Puts the page together: player, keys, tabs, theme.

function main() {
  document.getElementById("subtitle").textContent = view.subtitle;
  document.getElementById("made").textContent = `Made by valid-ref ${view.version} (${view.format}).`;
  const { wanted, wrong } = readAddress(location.hash === "#main" || location.hash.startsWith("#clause-") ? "" : location.hash);
  state.active = wanted.run ?? 0;
  theme();
  if (view.story) {
    const story = document.getElementById("story");
    story.append(...storyPart(view.story));
    story.hidden = false;
  }
  const panels = view.runs.map((run, number) => panel(run, number));
  const runs = document.getElementById("runs");
  runs.className = view.layout;
  runs.append(...panels);
  if (view.layout === "tabs") tabs(panels);
  if (view.runs.length) player();
  if (view.clauses.length) {
    const glossary = document.getElementById("glossary");
    glossary.append(...glossaryPart());
    glossary.hidden = false;
  }
  listen(redrawCursors);
  drawPlots();
  fitTables();
  const guide = tour();
  if (location.hash) follow(guide);
  else if (guide) guide.go(0, false);
  else if (view.runs.length) { state.position = Math.max(0, firstPlace(lead())); changed(); }
  if (wrong.length) complain(wrong);
  listen(writeAddress);
  addEventListener("hashchange", () => follow(guide));
  let width = innerWidth;
  addEventListener("resize", () => { if (innerWidth !== width) { width = innerWidth; drawPlots(); } });
  document.documentElement.dataset.ready = "true";
}

function panel(run, number) {
  const watch = el("div", { class: "watch" },
    el("div", { class: "pictures" }, el("section", { class: "card stage", "data-part": "network" }, graphPart(run, number)), sequencePart(run, number)),
    el("div", { class: "aside" }, roundCard(run, number), agentCard(run, number)));
  const harm = view.harm && number === 0 ? harmPart(view.harm) : null;
  const parts = [causesPart(run, number), alarmsPart(run, number), checksPart(run, number), plotsPart(run, number)];
  const inner = view.tour.length
    ? [watch, harm, ...parts, outcomePart(run), costsPart(run), factsPart(run)]
    : [divergencesPart(run, number), outcomePart(run), watch, ...parts, costsPart(run), factsPart(run)];
  return el("section", { class: "run", id: `run-${number}`, "aria-label": run.label }, inner.filter(Boolean));
}

function tabs(panels) {
  const list = document.getElementById("tabs");
  const buttons = view.runs.map((run, number) => el("button", {
    type: "button", role: "tab", id: `tab-${number}`, "aria-controls": `run-${number}`,
    onclick: () => show(number),
    onkeydown: (event) => {
      const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
      if (!step) return;
      const next = (number + step + panels.length) % panels.length;
      show(next);
      buttons[next].focus();
      event.preventDefault();
      event.stopPropagation();
    },
  }, run.label));
  list.append(...buttons);
  list.hidden = false;
  function show(number) {
    state.active = number;
    panels.forEach((one, place) => {
      one.hidden = place !== number;
      one.setAttribute("role", "tabpanel");
      one.setAttribute("aria-labelledby", `tab-${place}`);
      buttons[place].setAttribute("aria-selected", String(place === number));
      buttons[place].tabIndex = place === number ? 0 : -1;
    });
    state.position = Math.min(state.position, lastPosition());
    changed();
    drawPlots();
  }
  show(state.active);
  showRun = show;
}

// Another run under the tabs, if there are tabs.
let showRun = () => {};
let stopPlaying = () => {};

// A run, a round of it, and an agent.
function moveTo({ run, index, agent }) {
  if (run !== state.active) showRun(run);
  const place = view.runs[run].rounds.findIndex((round) => round.index >= index);
  state.position = place < 0 ? lastPosition() : place;
  state.selected[run] = agent;
  changed();
}

function lead() {
  return shownRuns().reduce((longest, run) => (run.rounds.length > longest.rounds.length ? run : longest));
}

const PLAY = "M7 4l13 8-13 8z";
const PAUSE = "M8 5v14 M16 5v14";

function symbol(path) {
  return svg("svg", { viewBox: "0 0 24 24", class: "symbol", "aria-hidden": "true" }, svg("path", { d: path }));
}

function player() {
  const box = document.getElementById("player");
  const slider = el("input", { type: "range", id: "slider", min: 0, step: 1, "aria-label": "Round", oninput: () => goTo(Number(slider.value)) });
  const name = el("p", { class: "player-name", id: "round-name" });
  const strip = el("div", { class: "strip", role: "group", "aria-label": "Phases: go to the first round of one" });
  const button = (id, text, label, action) => el("button", { type: "button", id, "aria-label": label, title: label, onclick: action }, text);
  const play = button("play", symbol(PLAY), "Play (space)", toggle);
  const speed = el("select", { id: "speed", "aria-label": "Rounds per second", onchange: () => { state.speed = Number(speed.value); if (state.playing) start(); } },
    SPEEDS.map((value) => el("option", { value, selected: value === state.speed }, `${value} per s`)));
  const jump = button("next-event", "next event", "Next event (n)", () => nextEvent(1));
  box.append(...[
    el("div", { class: "player-row" },
      el("div", { class: "buttons" }, button("first", symbol("M6 5v14 M19 5l-9 7 9 7z"), "First round (home)", () => goTo(0)), button("back", symbol("M17 5l-10 7 10 7z"), "Step back (left arrow)", () => goTo(state.position - 1)),
        play, button("forward", symbol("M7 5l10 7-10 7z"), "Step forward (right arrow)", () => goTo(state.position + 1)), button("last", symbol("M18 5v14 M5 5l9 7-9 7z"), "Last round (end)", () => goTo(lastPosition()))),
      name, jump, speed),
    el("div", { class: "slider-box" }, slider, strip),
    el("p", { class: "keys muted" }, el("kbd", {}, "space"), " play, ", el("kbd", {}, "←"), " ", el("kbd", {}, "→"), " step, ", el("kbd", {}, "[ ]"), " phase, ", el("kbd", {}, "n"), " ", el("kbd", {}, "p"), " event, ", el("kbd", {}, "home"), " ", el("kbd", {}, "end")),
    leftOut(),
    el("ul", { class: "legend tick-key", "aria-hidden": "true" }, view.runs.some((run) => run.divergences.length) && el("li", {}, el("span", { class: "tick diverge still" }), "leaves the specification"),
      view.runs.some((run) => run.deviations.length) && el("li", {}, el("span", { class: "tick cheat still" }), "somebody deviates"), view.runs.some((run) => run.alarms.length) && el("li", {}, el("span", { class: "tick alarm still" }), "alarms are raised")),
  ].filter(Boolean));
  box.hidden = false;
  let timer = 0;
  let shown = null;
  function start() {
    clearInterval(timer);
    state.playing = true;
    if (state.position >= lastPosition()) goTo(0);
    timer = setInterval(() => { if (state.position >= lastPosition()) stop(); else goTo(state.position + 1); }, 1000 / state.speed);
    play.replaceChildren(symbol(PAUSE));
    play.setAttribute("aria-label", "Pause (space)");
  }
  function stop() {
    clearInterval(timer);
    state.playing = false;
    play.replaceChildren(symbol(PLAY));
    play.setAttribute("aria-label", "Play (space)");
    announce();
  }
  function toggle() { if (state.playing) stop(); else start(); }
  function nextEvent(direction) {
    const places = [...new Set(shownRuns().flatMap((run) => events(run)))].sort((a, b) => a - b);
    const next = direction > 0 ? places.find((place) => place > state.position) : places.findLast((place) => place < state.position);
    if (next != null) goTo(next);
  }
  function nextPhase(direction) {
    const run = lead();
    const begins = run.phases.map((phase) => run.rounds.findIndex((round) => round.index >= phase.first));
    const next = direction > 0 ? begins.find((place) => place > state.position) : begins.findLast((place) => place < state.position);
    if (next != null) goTo(next);
  }
  stopPlaying = () => { if (state.playing) stop(); };
  const actions = {
    " ": toggle, ArrowLeft: () => goTo(state.position - 1), ArrowRight: () => goTo(state.position + 1), Home: () => goTo(0), End: () => goTo(lastPosition()),
    "]": () => nextPhase(1), "[": () => nextPhase(-1), n: () => nextEvent(1), p: () => nextEvent(-1),
  };
  addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || !(event.key in actions)) return;
    const at = event.target;
    const typing = at.matches("select, textarea, summary") || (at.matches("input") && at !== slider) || (event.key === " " && at.matches("button, a"));
    if (typing) return;
    event.preventDefault();
    actions[event.key]();
  });
  function announce() {
    const run = lead();
    const round = run.rounds[placeOf(run)];
    document.getElementById("announce").textContent = sentences([roundName(run, round), ...happenings(run, round).map((one) => one.text)]);
  }
  function draw() {
    const run = lead();
    const round = run.rounds[placeOf(run)];
    if (shown !== run) {
      shown = run;
      strip.replaceChildren(...stripParts(run));
    }
    for (const name of strip.querySelectorAll(".phase-name")) {
      if (Number(name.dataset.phase) === round.phase) name.setAttribute("aria-current", "step");
      else name.removeAttribute("aria-current");
    }
    slider.max = lastPosition();
    slider.value = state.position;
    slider.setAttribute("aria-valuetext", roundName(run, round));
    name.replaceChildren(el("b", {}, `Round ${round.index + 1}`), ` of ${run.total_rounds} · ${phaseOf(run, round).title}`);
    if (!state.playing) announce();
  }
  listen(draw);
  draw();
}

// What a page of a long or large run leaves out, said where one looks for it.
function leftOut() {
  const said = view.runs.filter((run) => run.omitted.length).map((run) => `${view.runs.length > 1 ? `${run.label}: ` : ""}${run.omitted.join("; ")}`);
  return said.length ? el("p", { class: "muted", id: "left-out" }, `This page shows a part only: ${said.join(". ")}.`) : null;
}

function stripParts(run) {
  const count = run.rounds.length;
  const share = (place) => (count < 2 ? 50 : (place / (count - 1)) * 100);
  const begins = run.phases.map((phase) => run.rounds.findIndex((round) => round.index >= phase.first));
  const phases = run.phases.map((phase, number) => {
    const left = number ? share(begins[number] - 0.5) : 0;
    const right = number + 1 < begins.length ? share(begins[number + 1] - 0.5) : 100;
    return el("div", { class: `phase ${number % 2 ? "odd" : "even"}`, style: `left:${left}%;width:${right - left}%`, title: phase.title });
  });
  const names = run.phases.map((phase, number) => el("button", { type: "button", class: "phase-name", "data-phase": number, title: phase.about, onclick: () => goTo(begins[number]) }, phase.title, el("span", { class: "unseen" }, ` from round ${phase.first + 1}`)));
  const places = { cheat: new Set(), alarm: new Set(), diverge: new Set() };
  for (const one of shownRuns()) {
    const alarmed = new Set(one.alarms.map((alarm) => alarm.index));
    const diverging = new Set(one.divergences.map((found) => found.index));
    one.rounds.forEach((round, place) => {
      if (round.edges.length) places.cheat.add(place);
      if (alarmed.has(round.index)) places.alarm.add(place);
      if (diverging.has(round.index)) places.diverge.add(place);
    });
  }
  const marks = run.rounds.flatMap((_round, place) => [
    places.diverge.has(place) ? el("span", { class: "tick diverge", style: `left:${share(place)}%` }) : null,
    places.cheat.has(place) ? el("span", { class: "tick cheat", style: `left:${share(place)}%` }) : null,
    places.alarm.has(place) ? el("span", { class: "tick alarm", style: `left:${share(place)}%` }) : null,
  ]).filter(Boolean);
  return [el("div", { class: "ticks", "aria-hidden": "true" }, marks), el("div", { class: "phases", "aria-hidden": "true" }, phases), el("div", { class: "phase-names" }, names)];
}

function theme() {
  const button = document.getElementById("theme");
  const system = matchMedia("(prefers-color-scheme: dark)");
  const dark = () => (document.documentElement.dataset.theme || (system.matches ? "dark" : "light")) === "dark";
  const show = () => {
    button.textContent = dark() ? "Light theme" : "Dark theme";
    button.setAttribute("aria-pressed", String(dark()));
    drawPlots();
  };
  button.addEventListener("click", () => { document.documentElement.dataset.theme = dark() ? "light" : "dark"; show(); });
  system.addEventListener("change", show);
  show();
}

main();
