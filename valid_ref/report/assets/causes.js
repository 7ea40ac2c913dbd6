// From a lie to the alarms it caused, and back.

function messageName(message) {
  return `agent ${message.sender} to agent ${message.receiver}, round ${message.index + 1}`;
}

// Go to a message and mark it in the network.
function goToMessage(runNumber, message, agent = message.receiver) {
  state.message = { run: runNumber, ...message };
  moveTo({ run: runNumber, index: message.index, agent });
  bringIntoView(document.querySelector(`#run-${runNumber} [data-part=network]`));
}

function goToAlarm(runNumber, alarm) {
  state.message = null;
  moveTo({ run: runNumber, index: alarm.index, agent: alarm.agent });
  bringIntoView(document.querySelector(`#run-${runNumber} [data-part=agent]`));
}

// Scroll only if the part is out of sight.
function bringIntoView(section) {
  const box = section?.getBoundingClientRect();
  if (box && (box.bottom < 200 || box.top > innerHeight - 120)) showWhole(section);
}

function causeButton(runNumber, alarm) {
  if (!alarm.cause) return el("span", { class: "muted" }, alarm.why);
  return el("button", { type: "button", class: "quiet small cause", title: "Show the message that this alarm comes from", onclick: () => goToMessage(runNumber, alarm.cause) }, `from ${messageName(alarm.cause)}`);
}

// What lies behind an alarm, in words.
function behind(run, alarm) {
  if (!alarm.deviations.length) return alarm.why;
  return alarm.deviations.map((place) => {
    const one = run.deviations[place];
    return `agent ${one.sender} in ${run.phases[one.phase].title.toLowerCase()}: ${one.kind}`;
  }).join("; ");
}

function causesPart(run, runNumber) {
  if (!run.deviations.length) return null;
  const rows = run.deviations.map((one) => {
    const alarms = one.alarms.map((place) => run.alarms[place]);
    const total = alarms.reduce((sum, alarm) => sum + alarm.count, 0);
    const first = alarms.reduce((least, alarm) => (least && least.index <= alarm.index ? least : alarm), null);
    const reasons = [...new Set(alarms.map((alarm) => alarm.reason))];
    return el("tr", {},
      el("th", { scope: "row" }, `agent ${one.sender}`),
      el("td", {}, run.phases[one.phase].title, el("br"), el("span", { class: "muted" }, one.first === one.last ? `round ${one.first + 1}` : `rounds ${one.first + 1} to ${one.last + 1}`)),
      el("td", {}, el("button", { type: "button", class: "quiet small", onclick: () => goToMessage(runNumber, one.message, one.sender) }, "show"), ` ${one.kind}`, one.divergence != null && el("b", {}, " (found by the oracle)")),
      el("td", {}, one.about),
      el("td", {}, first ? [el("button", { type: "button", class: "quiet small effect", onclick: () => goToAlarm(runNumber, first) }, `${plural(total, "alarm")}, first in round ${first.index + 1}`), el("span", { class: "muted" }, ` ${reasons.join(", ")}`)] : "no alarm"));
  });
  return el("section", { class: "card", "data-part": "causes" }, el("h2", {}, "From lies to alarms"),
    el("p", { class: "muted" }, "What was said in place of what honest code says, what can be seen of it, and the alarms it caused."),
    table("From lies to alarms", ["who", "when", "what", "what the checks can see", "caused"], rows));
}
