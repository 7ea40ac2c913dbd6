// Elements made in one line, and the two places where the page talks to the server and to its reader.

const $ = (name) => document.getElementById(name);

/** An element with attributes and children; texts are texts, never markup. */
function el(tag, attributes = {}, ...children) {
  const made = tag.startsWith("svg:")
    ? document.createElementNS("http://www.w3.org/2000/svg", tag.slice(4))
    : document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) made.addEventListener(name.slice(2), value);
    else if (value === true) made.setAttribute(name, "");
    else if (value !== false && value !== null && value !== undefined) made.setAttribute(name, value);
  }
  made.append(...children.flat().filter((child) => child !== null));
  return made;
}

const count = (number, one, many = `${one}s`) => `${number} ${number === 1 ? one : many}`;

function announce(text) { $("announce").textContent = text; }

/** The answer of the server to a command on the session; an empty body asks for the first one. */
async function ask(body) {
  if (new TextEncoder().encode(body).length > MOST_BYTES) {
    return { refused: { message: `this is too large for the server, which takes at most ${MOST_BYTES} bytes`, clause: "" } };
  }
  try {
    const response = await fetch("command", {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body,
    });
    if (!response.ok) return { refused: { message: `the server says: ${(await response.text()).trim()}`, clause: "" } };
    return await response.json();
  } catch {
    return { refused: { message: "the server does not answer: it was stopped (Ctrl-C)?", clause: "" } };
  }
}
