// Times on the page for managers: on the clock of the kitchen, and by the clock of the server.

import { el, setText } from "./dom.js";
import { word } from "./words.js";

let zone; // the kitchen's
let behind = 0; // the server's clock minus ours

export function setClock(at, name) {
  behind = Date.parse(at) - Date.now();
  zone = name || undefined;
}

export const now = () => Date.now() + behind;

function ago(ms) {
  const m = Math.floor(Math.max(ms, 0) / 60000);
  if (m < 1) return word("manage_less");
  if (m < 60) return word("manage_minutes", { n: m });
  if (m < 2880) return word("manage_hours_minutes", { h: Math.floor(m / 60), m: m % 60 });
  return word("manage_days", { n: Math.floor(m / 1440) });
}

export function clock(at, options = { hour: "2-digit", minute: "2-digit" }) {
  const { lang } = document.documentElement;
  try {
    return new Intl.DateTimeFormat(lang === "en" ? "en-GB" : lang, { timeZone: zone, ...options }).format(new Date(at));
  } catch (e) {
    return new Date(at).toLocaleTimeString();
  }
}

// age shows for how long, in a text of the table; it is kept up to date without drawing anything else.
export const age = (at, text) => el("span", { data: { at: Date.parse(at), text } });
export function showAges() {
  for (const e of document.querySelectorAll("[data-at]"))
    setText(e, word(e.dataset.text, { age: ago(now() - e.dataset.at) }));
}
