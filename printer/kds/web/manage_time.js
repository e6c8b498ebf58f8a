// Times on the page for managers: on the clock of the kitchen, and by the clock of the server.

import { el, setText } from "./dom.js";

let zone; // the kitchen's
let behind = 0; // the server's clock minus ours

export function setClock(at, name) {
  behind = Date.parse(at) - Date.now();
  zone = name || undefined;
}

export const now = () => Date.now() + behind;

function ago(ms) {
  const m = Math.floor(Math.max(ms, 0) / 60000);
  if (m < 1) return "less than a minute";
  if (m < 60) return m + " min";
  return m < 2880 ? Math.floor(m / 60) + " h " + (m % 60) + " min" : Math.floor(m / 1440) + " days";
}

export function clock(at, options = { hour: "2-digit", minute: "2-digit" }) {
  try {
    return new Intl.DateTimeFormat("en-GB", { timeZone: zone, ...options }).format(new Date(at));
  } catch (e) {
    return new Date(at).toLocaleTimeString();
  }
}

// age shows for how long; it is kept up to date without drawing anything else.
export const age = (at, before, after) => el("span", { data: { at: Date.parse(at), before, after: after || "" } });
export function showAges() {
  for (const e of document.querySelectorAll("[data-at]"))
    setText(e, (e.dataset.before || "") + ago(now() - e.dataset.at) + e.dataset.after);
}
