// Draws lists of cards. What has not changed stays in the document: a person may have a menu open there, or
// have tapped once.

import { el } from "./dom.js";

// draw gives list one child for each of items, in order. parts(item, i) returns the key of the card, its class,
// and its parts, each a function that makes an element and the arguments for it. A part is made anew only if its
// arguments change.
export function draw(list, items, parts) {
  const was = new Map(Array.from(list.children, (e) => [e.dataset.key, e]));
  const used = new Set();
  items.forEach((item, i) => {
    const [id, kind, ...all] = parts(item, i);
    let key = String(id);
    while (used.has(key)) key += " again";
    used.add(key);
    let card = was.get(key);
    if (card) was.delete(key);
    else card = el("li", { data: { key } });
    card.className = kind;
    all.forEach(([make, ...args], n) => {
      const shows = JSON.stringify(args);
      const old = card.children[n];
      if (old && old.shows === shows) return;
      const drawn = make(...args);
      drawn.shows = shows;
      if (old) card.replaceChild(drawn, old);
      else card.append(drawn);
    });
    if (list.children[i] !== card) list.insertBefore(card, list.children[i] || null);
  });
  for (const e of was.values()) e.remove();
}
