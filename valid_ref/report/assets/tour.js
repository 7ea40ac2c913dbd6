// The guided tour: a panel that goes through rounds and parts of the page.

function tour() {
  const steps = view.tour;
  if (!steps.length) return null;
  const heading = el("h2", { id: "tour-title", tabindex: -1 });
  const count = el("p", { class: "muted", id: "tour-count" });
  const body = el("div", { class: "tour-text" });
  const back = el("button", { type: "button", id: "tour-back", onclick: () => go(at - 1) }, "Back");
  const next = el("button", { type: "button", id: "tour-next", class: "strong", onclick: () => (at + 1 < steps.length ? go(at + 1) : close()) }, "Next");
  const panel = el("aside", { id: "tour", class: "tour", "aria-labelledby": "tour-title", hidden: true },
    el("div", { class: "tour-head" }, count, el("button", { type: "button", id: "tour-close", class: "quiet small", onclick: close }, "Close the tour")),
    heading, body, el("div", { class: "tour-buttons" }, back, next));
  panel.addEventListener("keydown", (event) => { if (event.key === "Escape") close(); });
  const open = el("button", { type: "button", id: "tour-open", onclick: () => go(0) }, "Guided tour");
  document.querySelector(".top-buttons").prepend(open);
  document.body.append(panel);
  let at = 0;

  // A step of the tour; where a moment is given that is another than the step's, it is shown.
  function go(place, focus = true, moment = {}) {
    at = Math.max(0, Math.min(steps.length - 1, place));
    const step = steps[at];
    panel.hidden = false;
    document.body.classList.add("touring");
    count.textContent = `Tour, step ${at + 1} of ${steps.length}`;
    heading.textContent = step.title;
    body.replaceChildren(...step.text.map((text) => el("p", {}, text)));
    back.disabled = at === 0;
    next.textContent = at + 1 < steps.length ? "Next" : "End of the tour";
    state.tour = at;
    stopPlaying();
    moveTo({ run: step.run, index: step.index, agent: step.agent, ...moment });
    point(step.part);
    if (focus) heading.focus({ preventScroll: true });
  }
  function point(part) {
    for (const old of document.querySelectorAll(".pointed")) old.classList.remove("pointed");
    if (!part) { scrollTo({ top: 0 }); return; }
    const section = [...document.querySelectorAll(`[data-part="${part}"]`)].find((node) => node.getClientRects().length);
    if (!section) return;
    section.classList.add("pointed");
    showWhole(section, panel);
  }
  function close() {
    panel.hidden = true;
    state.tour = null;
    changed();
    document.body.classList.remove("touring");
    for (const old of document.querySelectorAll(".pointed")) old.classList.remove("pointed");
    open.focus({ preventScroll: true });
  }
  return { go };
}

// Scroll so that a part stands below the player, as far as it fits.
function showWhole(section) {
  const player = document.getElementById("player");
  const covered = getComputedStyle(player).position === "sticky" ? player.getBoundingClientRect().height + 12 : 12;
  scrollTo({ top: Math.max(0, section.getBoundingClientRect().top + scrollY - covered) });
}
