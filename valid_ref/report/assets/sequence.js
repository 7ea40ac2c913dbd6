// Who said what to whom, and when: the rounds around the current one, for one agent and its neighbours.

const SHOWN_ROUNDS = 5;
const MOST_LINES = 13;

function sequencePart(run, number) {
  const picture = svg("svg", { class: "sequence", role: "img" });
  const title = el("h2", {});
  const note = el("p", { class: "muted" });
  const box = el("div", { class: "scroll", role: "region", "aria-label": "Sequence diagram" }, picture);
  function draw() {
    const v = state.selected[number];
    title.textContent = `Who says what to agent ${v}, and what it says`;
    const at = placeOf(run);
    const from = Math.max(0, Math.min(at - 2, run.rounds.length - SHOWN_ROUNDS));
    const rounds = run.rounds.slice(from, from + SHOWN_ROUNDS);
    const { lines, left } = lifelines(run, rounds, v);
    note.textContent = `Time goes down. Each band is a round: first agent ${v} speaks, then its neighbours.${left ? ` ${plural(left, "more neighbour")} of agent ${v} ${left === 1 ? "is" : "are"} not drawn.` : ""}`;
    drawSequence(run, number, picture, { v, rounds, lines, at: run.rounds[at] });
  }
  listen(draw);
  draw();
  return el("section", { class: "card sequence-card", "data-part": "sequence" }, title, note, box);
}

// The agents that have a line: the chosen one and its neighbours, those that deviate first if there are many.
function lifelines(run, rounds, v) {
  const near = neighbours(run, v);
  const odd = new Set(rounds.flatMap((round) => [
    ...round.edges.filter((edge) => edge.sender === v || edge.receiver === v).flatMap((edge) => [edge.sender, edge.receiver]),
    ...run.divergences.filter((one) => one.said && one.index === round.index).map((one) => one.agent),
  ]));
  const kept = [...near].sort((a, b) => odd.has(b) - odd.has(a) || a - b).slice(0, MOST_LINES - 1);
  return { lines: [v, ...kept].sort((a, b) => a - b), left: near.length - kept.length };
}

function drawSequence(run, number, picture, { v, rounds, lines, at }) {
  const step = Math.max(58, Math.min(120, 560 / lines.length));
  const height = 84;
  const top = 40;
  const width = 96 + step * lines.length;
  const x = new Map(lines.map((agent, place) => [agent, 110 + step * (place + 0.3)]));
  const parts = [];
  const told = [];
  rounds.forEach((round, place) => {
    const y = top + place * height;
    if (round === at) parts.push(svg("rect", { x: 0, y, width, height, class: "now" }));
    const band = svg("g", { class: "band-name" }, svg("text", { x: 6, y: y + 22 }, `round ${round.index + 1}`), svg("text", { x: 6, y: y + 40, class: "small" }, phaseOf(run, round).title));
    parts.push(band, svg("line", { x1: 0, x2: width, y1: y, y2: y, class: "rule" }));
  });
  for (const agent of lines) {
    parts.push(svg("line", { x1: x.get(agent), x2: x.get(agent), y1: top - 6, y2: top + rounds.length * height, class: `life ${agent === v ? "chosen" : ""}` }),
      svg("text", { x: x.get(agent), y: 22, "text-anchor": "middle", class: `life-name ${run.agents[agent].role}` }, `${agent}${run.agents[agent].role === "byzantine" ? " ◇" : ""}`));
  }
  rounds.forEach((round, place) => {
    const y = top + place * height;
    const words = (sender) => variants(run, round, sender);
    const draw = (sender, receiver, start, end) => {
      const group = words(sender).find((one) => one.receivers.includes(receiver));
      const message = run.messages[group.message];
      const kind = group.altered ? "altered" : "plain";
      const pointed = isPointed(number, round, sender, receiver);
      parts.push(svg("path", { d: `M${x.get(sender)},${start} L${x.get(receiver)},${end}`, class: `word-line ${kind}${pointed ? " pointed-line" : ""}${message.word === "nothing new" ? " quiet" : ""}`, "marker-end": `url(#head-${kind}-${number})` },
        svg("title", {}, `${sender} to ${receiver}: ${message.text}`)));
      if (group.altered) {
        const text = label(run, round, group, sender);
        const share = 0.72;
        const cx = x.get(sender) + (x.get(receiver) - x.get(sender)) * share;
        const wide = 10 + text.length * 8;
        parts.push(svg("g", { class: "word altered", transform: `translate(${cx},${start + (end - start) * share})` }, svg("rect", { x: -wide / 2, y: -9, width: wide, height: 18, rx: 5 }), svg("text", { "text-anchor": "middle", dy: "0.36em" }, text)));
        told.push(`round ${round.index + 1}: ${sender} to ${receiver} ${message.text}`);
      }
    };
    for (const other of lines) if (other !== v) draw(v, other, y + 8, y + 34);
    for (const other of lines) if (other !== v) draw(other, v, y + 38, y + 64);
    for (const agent of lines) {
      if (run.alarms.some((alarm) => alarm.agent === agent && alarm.index === round.index)) {
        parts.push(svg("g", { class: "seq-alarm", transform: `translate(${x.get(agent)},${y + 72}) scale(0.75)` }, svg("path", { d: "M0,-13 L13,10 L-13,10 z", class: "badge-icon" }), svg("text", { "text-anchor": "middle", y: 7.5, "font-size": 17, class: "badge-text" }, "!"), svg("title", {}, `agent ${agent} raises an alarm`)));
      }
      if (run.divergences.some((one) => one.agent === agent && one.index === round.index)) {
        parts.push(divergeMark(x.get(agent) + 16, y + 12, 0.8, `agent ${agent} leaves the specification here`));
      }
    }
  });
  picture.setAttribute("viewBox", `0 0 ${width} ${top + rounds.length * height + 4}`);
  picture.style.maxWidth = `${width * 1.1}px`;
  picture.style.minWidth = `${Math.min(width, 760) * 0.8}px`;
  picture.setAttribute("aria-label", `Agent ${v} and its neighbours in rounds ${rounds[0].index + 1} to ${rounds.at(-1).index + 1}. ${told.length ? `Not what honest code says: ${told.slice(0, 12).join("; ")}.` : "Nothing is known to be other than what honest code says."}`);
  picture.replaceChildren(...parts);
}

// Whether this message is the one that a link led to.
function isPointed(number, round, sender, receiver) {
  const message = state.message;
  return Boolean(message) && message.run === number && message.index === round.index && message.sender === sender && message.receiver === receiver;
}

function divergeMark(x, y, scale, title) {
  return svg("g", { class: "diverge-mark", transform: `translate(${x},${y}) scale(${scale})` }, svg("rect", { x: -11, y: -11, width: 22, height: 22, transform: "rotate(45)" }), svg("text", { "text-anchor": "middle", dy: "0.36em", "font-size": 16 }, "✗"), svg("title", {}, title));
}
