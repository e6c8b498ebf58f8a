// The texts of the page in the language of the venue: the server sends one column of words.json. What an order says
// is data, and never translated.

import { byId } from "./dom.js";

export const start = JSON.parse(byId("start").textContent);

// word returns a text with its {names} replaced by values. Of "{n} order|{n} orders" the first is for one.
export function word(key, values = {}) {
  const [one, many = one] = (start.words[key] || key).split("|");
  return (values.n === 1 ? one : many).replace(/\{(\w+)\}/g, (_, name) => values[name]);
}
