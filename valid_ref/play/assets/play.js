// The session of the page, a text to it; its forms, and its commands one after the other.

let session = null, view = null, touched = false, waiting = 0, last = Promise.resolve();
const KEPT = `session ${location.pathname}`;

const INPUTS = {
  numbers: (way) => ({ label: "Numbers", hint: way.hint }),
  text: (way) => ({ label: way.name === "other" ? "Edits" : "Value", hint: way.hint }),
  field: () => ({ label: "Entry", hint: "" }),
};

/** Send a command after those before it; show what comes back. */
function send(command, after = () => {}) {
  wait(1);
  last = last.then(async () => {
    const found = await ask(command === null ? "" : JSON.stringify({ session, command }));
    refuse(found.refused);
    if (found.refused) return;
    session = found.session;
    const looked = command && command.kind === "look";
    show(found.view, looked && touched);
    try { sessionStorage.setItem(KEPT, session); } catch { /* not kept, that is all */ }
    after(found);
  }).finally(() => wait(-1));
}

/** How many commands are not answered yet. */
function wait(more) {
  waiting += more;
  document.body.dataset.waiting = waiting;
  document.body.setAttribute("aria-busy", waiting > 0);
}

function refuse(refused) {
  $("refused").hidden = !refused;
  for (const one of document.querySelectorAll("[aria-invalid]")) one.removeAttribute("aria-invalid");
  if (!refused) { $("refused").textContent = ""; return; }
  $("refused").textContent = `${refused.message}${refused.clause ? ` [${refused.clause}]` : ""}`;
  const edge = /^(\d+) to (\d+):/.exec(refused.message);
  const form = edge && $(`move-${edge[1]}-${edge[2]}`);
  if (form) for (const one of form.querySelectorAll("input, textarea")) one.setAttribute("aria-invalid", "true");
}

// The forms of the Byzantine edges.

function filled() {
  if (!touched) return null;
  return [...document.querySelectorAll(".move")].map((form) => ({
    sender: Number(form.dataset.sender),
    receiver: Number(form.dataset.receiver),
    choice: choiceOf(form),
  }));
}

function choiceOf(form) {
  const said = (name) => (form.querySelector(`[name=${name}]`) || { value: "" }).value;
  return { way: said("way"), numbers: said("numbers"), field: said("field"), text: said("text") };
}

function changed() { touched = true; send({ kind: "look", filled: filled() }); }

function showMoves(fresh) {
  const own = fresh.next.filter((edge) => edge.choice);
  if (!own.length) {
    $("moves").replaceChildren(el("p", {}, "The run is over. Go back to an earlier round to try something else."));
    return;
  }
  $("moves").replaceChildren(...own.map((edge) => moveForm(fresh, edge)));
}

function moveForm(fresh, edge) {
  const name = `${edge.sender} to ${edge.receiver}`, id = `move-${edge.sender}-${edge.receiver}`;
  const select = el("select", { name: "way", onchange: () => { showFields(fresh, edge, form, {}); changed(); } },
    fresh.ways.map((way) => el("option", { value: way.name, selected: way.name === edge.choice.way }, way.label)));
  const form = el("fieldset", { class: "move", id, "data-sender": edge.sender, "data-receiver": edge.receiver },
    el("legend", {}, name),
    el("p", {}, "Honest code says: ", el("span", { class: "value usual" }, edge.usual)),
    el("div", { class: "fields" }, el("label", {}, `Agent ${edge.sender} sends to ${edge.receiver}`, select)),
    el("p", {}, `Agent ${edge.receiver} hears: `, el("span", { class: "value says" }, edge.says)),
    el("button", { type: "button", class: "small", "aria-label": `The message ${name} in the same way to all neighbours of ${edge.sender}`, onclick: () => sameToAll(fresh, form) }, "Same way to all"));
  showFields(fresh, edge, form, edge.choice);
  form.classList.toggle("changed", edge.changed);
  return form;
}

/** The inputs that the chosen way needs. */
function showFields(fresh, edge, form, values) {
  const way = fresh.ways.find((one) => one.name === form.querySelector("[name=way]").value);
  const fields = form.querySelector(".fields");
  for (const old of fields.querySelectorAll(".input")) old.remove();
  for (const need of way.needs) {
    const { label, hint } = INPUTS[need](way), id = `${form.id}-${need}`;
    const note = hint ? el("span", { class: "muted", id: `${id}-hint` }, hint) : null;
    const shared = { name: need, id, "aria-describedby": hint ? `${id}-hint` : false, onchange: changed };
    let input;
    if (need === "field") {
      input = el("select", shared, edge.fields.map((field) => el("option", { value: field, selected: field === values.field }, field)));
      if (!edge.fields.length) input = el("input", { ...shared, placeholder: "such as 2/0", value: values.field || "" });
    } else if (way.name === "other") {
      input = el("textarea", shared, values.text || "");
    } else {
      input = el("input", { ...shared, value: values[need] || "", autocomplete: "off" });
    }
    fields.append(el("label", { class: way.name === "other" ? "input wide" : "input" }, label, input, note));
  }
}

function sameToAll(fresh, form) {
  const choice = choiceOf(form);
  for (const other of document.querySelectorAll(".move")) {
    if (other === form || other.dataset.sender !== form.dataset.sender) continue;
    const edge = fresh.next.find((one) => one.sender === Number(other.dataset.sender) && one.receiver === Number(other.dataset.receiver));
    other.querySelector("[name=way]").value = choice.way;
    showFields(fresh, edge, other, choice);
  }
  changed();
}

function updateMoves(fresh) {
  for (const edge of fresh.next.filter((one) => one.choice)) {
    const form = $(`move-${edge.sender}-${edge.receiver}`);
    form.querySelector(".says").textContent = edge.says;
    form.classList.toggle("changed", edge.changed);
  }
}

// The whole page.

function show(fresh, formsStay) {
  const before = view, focused = placeOfFocus();
  view = fresh;
  const over = fresh.played === fresh.total;
  document.title = `Your move: ${fresh.title}`;
  $("title").textContent = fresh.title;
  $("where").textContent = over
    ? `The end: all ${count(fresh.total, "round")} played`
    : `${fresh.phase_title}, round ${fresh.number} of ${fresh.phase_rounds}; ${fresh.played} of ${count(fresh.total, "round")} played`;
  $("what").textContent = fresh.phase_text;
  $("progress").max = fresh.total;
  $("progress").value = fresh.played;
  $("undo").disabled = fresh.here === 0;
  for (const name of ["step", "phase", "rest"]) $(name).disabled = over;
  $("facts").textContent = fresh.facts.map(([name, value]) => `${name}: ${value}`).join("; ");
  if (!formsStay) { touched = false; showMoves(fresh); $("saved").hidden = true; } else updateMoves(fresh);
  drawNetwork(fresh); showAgents(fresh); showHeard(fresh); showAlarms(fresh);
  showTree(fresh, (node) => send({ kind: "go", node })); showPromise(fresh); showEnd(fresh); showClauses(fresh);
  const again = focused && !(formsStay && focused.startsWith("#move")) && document.querySelector(focused);
  if (again && again !== document.activeElement) again.focus({ preventScroll: true });
  if (before && !formsStay) announce(newsOf(fresh));
  document.documentElement.setAttribute("data-ready", "");
}

/** A selector of what takes the place of the focused element when its part is drawn anew. */
function placeOfFocus() {
  const at = document.activeElement;
  if (!at) return null;
  if (at.dataset.node) return `#tree [data-node="${at.dataset.node}"]`;
  const form = at.closest(".move");
  return form ? `#${form.id} [name=way]` : null;
}

function newsOf(fresh) {
  const fresh_alarms = fresh.alarms.filter((alarm) => alarm.after === fresh.played);
  const alarmed = [...new Set(fresh_alarms.map((alarm) => alarm.agent))];
  const news = alarmed.length ? ` New alarms at ${count(alarmed.length, "agent")}: ${alarmed.join(", ")}.` : "";
  return `${$("where").textContent}.${news}${fresh.end ? ` ${fresh.end.meaning}` : ""}`;
}

function keep(file) {
  const link = el("a", { href: URL.createObjectURL(new Blob([file.text], { type: "application/json" })), download: file.name });
  link.click();
  URL.revokeObjectURL(link.href);
  const open = view.played < view.total ? " After your moves everybody runs honest code." : "";
  $("saved").replaceChildren(`Saved as ${file.name}; `, el("code", {}, `valid-ref run ${file.name}`), ` replays it.${open}`);
  $("saved").hidden = false;
  announce(`Saved as ${file.name}`);
}

$("moves").addEventListener("submit", (event) => { event.preventDefault(); send({ kind: "step", filled: filled() }); });
$("undo").addEventListener("click", () => send({ kind: "undo" }));
$("phase").addEventListener("click", () => playOn(view.phase_rounds - view.number));
$("rest").addEventListener("click", () => playOn(view.total - view.played - 1));
$("save").addEventListener("click", () => send({ kind: "save" }, (found) => keep(found.file)));
$("begin").addEventListener("submit", (event) => {
  event.preventDefault();
  const said = Object.fromEntries(new FormData(event.target));
  for (const name of ["rounds", "dimension", "seed"]) said[name] = Number(said[name]);
  send({ kind: "begin", ...said }, () => { $("new").open = false; });
});
$("file").addEventListener("change", async (event) => {
  const [file] = event.target.files;
  if (file && file.size > MOST_BYTES) {
    refuse({ message: `${file.name} has ${file.size} bytes, at most ${MOST_BYTES} are taken`, clause: "" });
  } else if (file) {
    wait(1); // the file is read before anything is sent
    try {
      const text = await file.text();
      send({ kind: "open", text }, () => { $("new").open = false; });
    } finally { wait(-1); }
  }
  event.target.value = "";
});

/** This round with the forms as they are, then so many more. */
function playOn(rounds) {
  send({ kind: "step", filled: filled() }, () => { if (rounds > 0) send({ kind: "follow", rounds }); });
}

let kept = null;
try { kept = sessionStorage.getItem(KEPT); } catch { /* none */ }
if (kept) { session = kept; send({ kind: "look", filled: null }); } else send(null);
