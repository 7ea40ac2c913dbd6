// The address follows run, round, agent and step of the tour, so that a moment can be shared:
// page.html#run=1&round=12&agent=4

const NAMES = ["run", "round", "agent", "tour"];

// What the address asks for, and what is wrong with it.
function readAddress(text) {
  const wanted = {};
  const wrong = [];
  const known = new URLSearchParams(text.replace(/^#/, ""));
  for (const [name, value] of known) {
    if (NAMES.includes(name) && known.getAll(name).length > 1) wrong.push(`“${name}” is there more than once`);
    else if (!NAMES.includes(name)) wrong.push(`there is no “${name}” in an address`);
    else if (!/^\d{1,9}$/.test(value)) wrong.push(`“${name}=${value}” is no number`);
    else wanted[name] = Number(value);
  }
  if (!view.runs.length) return { wanted: {}, wrong };
  if ("run" in wanted && !(wanted.run in view.runs)) {
    wrong.push(`there is no run ${wanted.run}; runs are 0 to ${view.runs.length - 1}`);
    delete wanted.run;
  }
  const number = wanted.run ?? state.active;
  const run = view.runs[number];
  if ("agent" in wanted && !(wanted.agent in run.agents)) {
    wrong.push(`there is no agent ${wanted.agent}; agents are 0 to ${run.agents.length - 1}`);
    delete wanted.agent;
  }
  const total = Math.max(...(view.layout === "tabs" ? [run] : view.runs).map((one) => one.total_rounds));
  if ("round" in wanted && (wanted.round < 1 || wanted.round > total)) {
    wrong.push(`there is no round ${wanted.round}; rounds are 1 to ${total}`);
    delete wanted.round;
  }
  if ("round" in wanted && !run.rounds.some((round) => round.index + 1 === wanted.round) && wanted.round <= run.total_rounds) {
    const next = run.rounds.find((round) => round.index + 1 > wanted.round);
    wrong.push(`round ${wanted.round} was left out of this page; this is round ${next.index + 1}`);
  }
  if ("tour" in wanted && (wanted.tour < 1 || wanted.tour > view.tour.length)) {
    wrong.push(view.tour.length ? `there is no step ${wanted.tour} of the tour; steps are 1 to ${view.tour.length}` : "this page has no tour");
    delete wanted.tour;
  }
  return { wanted, wrong: [...new Set(wrong)] };
}

// The place that a page opens at where its address names no round.
function firstPlace(run) {
  const learning = run.phases.find((phase) => phase.name === "LearnModel");
  const end = learning ? run.rounds.findLastIndex((round) => round.index < learning.first + learning.rounds) : run.rounds.length - 1;
  return view.story ? end : (events(run)[0] ?? 0);
}

function complain(wrong) {
  const notice = document.getElementById("notice");
  notice.hidden = !wrong.length;
  notice.textContent = wrong.length ? `The address asks for something that this page does not have: ${wrong.join("; ")}.` : "";
}

// Go where the address says; `guide` is the tour, if the page has one.
function follow(guide) {
  const text = location.hash;
  if (text.startsWith("#clause-")) {
    const clause = text.slice("#clause-".length);
    complain(openClause(clause) ? [] : [`there is no clause ${clause}`]);
    return;
  }
  if (text === "#main") return;
  const { wanted, wrong } = readAddress(text);
  complain(wrong);
  if (!view.runs.length) return;
  if (guide && "tour" in wanted) {
    const moment = {};
    if ("run" in wanted) moment.run = wanted.run;
    if ("round" in wanted) moment.index = wanted.round - 1;
    if ("agent" in wanted) moment.agent = wanted.agent;
    guide.go(wanted.tour - 1, false, moment);
    return;
  }
  const number = wanted.run ?? state.active;
  if (number !== state.active) showRun(number);
  const run = view.layout === "tabs" ? view.runs[number] : lead();
  const place = "round" in wanted ? run.rounds.findIndex((round) => round.index + 1 >= wanted.round) : firstPlace(run);
  state.position = place < 0 ? lastPosition() : place;
  if ("agent" in wanted) state.selected[number] = wanted.agent;
  changed();
}

let writing = 0;

// Write the place into the address; not in every round while playing.
function writeAddress() {
  if (!view.runs.length) return;
  clearTimeout(writing);
  writing = setTimeout(() => {
    const run = lead();
    const parts = [];
    if (view.runs.length > 1) parts.push(`run=${state.active}`);
    parts.push(`round=${run.rounds[placeOf(run)].index + 1}`, `agent=${state.selected[state.active]}`);
    if (state.tour != null) parts.push(`tour=${state.tour + 1}`);
    history.replaceState(null, "", `#${parts.join("&")}`);
  }, 120);
}
