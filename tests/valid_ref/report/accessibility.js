// What would stop somebody who uses a screen reader or the keyboard alone: a list of findings, empty if there are none.
() => {
  const found = [];
  const told = (node) => node.outerHTML.slice(0, 100);
  const shown = (node) => node.getClientRects().length > 0 && !node.closest("[aria-hidden=true]");
  const roles = new Set(["tablist", "tab", "tabpanel", "group", "button", "status", "alert", "region", "img"]);
  const nameOf = (node) => {
    const by = node.getAttribute("aria-labelledby");
    const named = by ? by.split(" ").map((id) => document.getElementById(id)?.textContent || "").join(" ") : "";
    const copy = node.cloneNode(true);
    copy.querySelectorAll?.("[aria-hidden=true]").forEach((one) => one.remove());
    return (node.getAttribute("aria-label") || named || [...(node.labels || [])].map((one) => one.textContent).join(" ") || copy.textContent).trim();
  };
  const every = (selector) => [...document.querySelectorAll(selector)];
  const ids = every("[id]").map((node) => node.id);
  for (const id of ids) if (ids.indexOf(id) !== ids.lastIndexOf(id)) found.push(`two elements have the id ${id}`);
  for (const node of every("[aria-labelledby], [aria-controls], [aria-describedby], label[for]")) {
    for (const name of ["aria-labelledby", "aria-controls", "aria-describedby", "for"]) {
      for (const id of (node.getAttribute(name) || "").split(" ").filter(Boolean)) if (!document.getElementById(id)) found.push(`${name}=${id} names nothing: ${told(node)}`);
    }
  }
  for (const node of every("[role]")) if (!roles.has(node.getAttribute("role"))) found.push(`role ${node.getAttribute("role")}: ${told(node)}`);
  for (const node of every("button, a[href], select, input, summary, [role=button], [role=img], [role=region], [role=tablist], [role=tab], aside")) {
    if (shown(node) && !nameOf(node)) found.push(`no name: ${told(node)}`);
  }
  for (const node of every("[tabindex]")) {
    if (node.tabIndex > 0) found.push(`changes the order of focus: ${told(node)}`);
    if (node.tabIndex >= 0 && node.closest("[aria-hidden=true]")) found.push(`hidden but in the order of focus: ${told(node)}`);
  }
  for (const node of every(".scroll, pre, .tour, .alarm-list")) {
    const wide = node.scrollWidth > node.clientWidth + 1 && ["auto", "scroll"].includes(getComputedStyle(node).overflowX);
    if (shown(node) && wide && node.tabIndex < 0 && !node.querySelector("button, a, input")) found.push(`scrolls, but not by keyboard: ${told(node)}`);
  }
  let level = 0;
  for (const node of every("h1, h2, h3, h4, h5")) {
    if (!shown(node)) continue;
    const own = Number(node.tagName[1]);
    if (own > level + 1) found.push(`a heading is skipped before: ${told(node)}`);
    level = own;
  }
  if (every("h1").length !== 1 || every("main").length !== 1 || !document.documentElement.lang || !document.title) found.push("no single h1 and main, or no language or title");
  for (const node of every("table")) if (shown(node) && !node.querySelector("th")) found.push(`a table without heads: ${told(node)}`);
  for (const node of every("button, select, [role=tab]")) {
    const box = node.getBoundingClientRect();
    if (shown(node) && (box.width < 24 || box.height < 23.5)) found.push(`smaller than 24 pixels: ${box.width}x${box.height} ${told(node)}`);
  }
  for (const node of every("ul, ol")) if ([...node.children].some((child) => child.tagName !== "LI")) found.push(`a list with something else in it: ${told(node)}`);
  return found;
}
