// Where the cards are: in columns that fill the screen, oldest first, on pages. Nothing scrolls.
// A card that is higher than the screen goes on in the next column.

import { el, empty } from "./dom.js";

const GAP = 10;

export class Columns {
  // make draws an entry: see cards.js
  constructor(board, make) {
    this.board = board;
    this.make = make;
    this.measure = el("div", { class: "column measure", "aria-hidden": "true" });
    this.cards = new Map(); // by key
    this.columns = []; // of all pages: lists of segments
    this.pages = 1;
    this.perPage = 1;
    this.moved = new Map(); // by key, when the card was last put somewhere else
  }

  // forget draws all cards anew at the next layout.
  forget() {
    this.cards.clear();
  }

  // layout finds the place of every card. mark changes when a card of the same version is to be
  // drawn differently.
  layout(entries, mark) {
    const width = this.fit();
    const height = this.board.clientHeight - GAP;
    const keys = new Set();
    const make = [];
    for (const entry of entries) {
      keys.add(entry.key);
      const sign = mark(entry) + "/" + width + "/" + height;
      const old = this.cards.get(entry.key);
      if (!old || old.entry !== entry || old.sign !== sign) make.push([entry, sign]);
    }
    for (const key of this.cards.keys()) if (!keys.has(key)) this.cards.delete(key);
    this.build(make, width, height);
    this.fill(entries, height);
  }

  // fit chooses how many columns there are. It returns their width.
  fit() {
    const least = parseFloat(getComputedStyle(this.board).getPropertyValue("--column")) || 300;
    const room = this.board.clientWidth - GAP;
    this.perPage = Math.max(1, Math.floor(room / (least + GAP)));
    const width = Math.floor(room / this.perPage) - GAP;
    if (this.board.children.length !== this.perPage + 1 || this.width !== width) {
      empty(this.board);
      for (let i = 0; i < this.perPage; i++) this.board.append(el("div", { class: "column" }));
      this.board.append(this.measure);
      for (const c of this.board.children) c.style.width = width + "px";
      this.width = width;
    }
    return width;
  }

  // build draws cards and measures them, all at once so that the browser computes their
  // layout once.
  build(make, width, height) {
    const made = [];
    for (const [entry, sign] of make) {
      const card = this.make(entry);
      card.sign = sign;
      card.root = segment(card, [card.head, ...card.blocks, card.foot]);
      card.segments = [card.root];
      this.measure.append(card.root);
      made.push(card);
    }
    for (const card of made) card.height = card.root.offsetHeight;
    for (const card of made) {
      card.heights = card.height > height ? [card.head, ...card.blocks, card.foot].map((b) => b.offsetHeight) : null;
    }
    for (const card of made) {
      if (card.heights) split(card, height);
      const old = this.cards.get(card.entry.key);
      const m = this.moved.get(card.entry.key);
      // A button that means something else now is as good as another card under the finger.
      if (old && m && old.foot.textContent !== card.foot.textContent) m.at = performance.now();
      this.cards.set(card.entry.key, card);
    }
    empty(this.measure);
  }

  fill(entries, height) {
    const columns = [[]];
    let used = 0;
    for (const entry of entries) {
      const card = this.cards.get(entry.key);
      if (card.segments.length > 1) {
        if (columns[columns.length - 1].length) columns.push([]);
        for (const s of card.segments)
          columns[columns.length - 1].length ? columns.push([s]) : columns[columns.length - 1].push(s);
        used = card.last;
      } else {
        if (used && used + card.height > height) {
          columns.push([]);
          used = 0;
        }
        columns[columns.length - 1].push(card.root);
        used += card.height;
      }
      used += GAP;
      const spot = columns.length + ":" + columns[columns.length - 1].length;
      const before = this.moved.get(entry.key);
      if (!before) this.moved.set(entry.key, { spot, at: this.settled ? performance.now() : -Infinity });
      else if (before.spot !== spot) Object.assign(before, { spot, at: performance.now() });
    }
    this.settled = true; // what comes from now on comes under somebody's eyes
    for (const key of this.moved.keys()) if (!this.cards.has(key)) this.moved.delete(key);
    this.columns = columns;
    this.pages = Math.max(1, Math.ceil(columns.length / this.perPage));
  }

  // show puts one page on the screen. Elements that stay are not touched: a finger may be on them.
  show(page) {
    for (let i = 0; i < this.perPage; i++) {
      const holder = this.board.children[i];
      const want = this.columns[page * this.perPage + i] || [];
      want.forEach((node, n) => {
        if (holder.children[n] !== node) holder.insertBefore(node, holder.children[n] || null);
      });
      while (holder.children.length > want.length) holder.removeChild(holder.lastChild);
    }
  }

  // on is the keys of the cards of a page, in order, each with the column where it begins.
  on(page) {
    const list = [];
    for (let i = 0; i < this.perPage; i++) {
      (this.columns[page * this.perPage + i] || []).forEach((node, row) => {
        const key = node.dataset.key;
        if (!list.some((c) => c.key === key)) list.push({ key, column: i, row, node });
      });
    }
    return list;
  }

  // pageOf is the page on which a card begins; -1 without one.
  pageOf(key) {
    const i = this.columns.findIndex((c) => c.some((node) => node.dataset.key === key));
    return i < 0 ? -1 : Math.floor(i / this.perPage);
  }

  // settling says that a card came under a finger that may have been meant for another one.
  settling(key) {
    const m = this.moved.get(key);
    return Boolean(m) && performance.now() - m.at < 400;
  }
}

function segment(card, parts, goesOn) {
  const root = el(goesOn ? "section" : "article", {
    class: goesOn ? "card on" : "card",
    tabindex: "-1",
    data: { key: card.entry.key },
    "aria-labelledby": goesOn ? null : "h-" + card.entry.key,
    "aria-label": goesOn ? card.entry.head + ", continued" : null,
  });
  const body = el("div", { class: "body" });
  if (parts[0] === card.head) root.append(parts.shift());
  else root.append(el("p", { class: "goes", text: "… " + card.entry.head + " continued" }));
  root.append(body);
  for (const p of parts) (p === card.foot ? root : body).append(p);
  return root;
}

const MORE = 34; // the line that says so

// split parts a card between blocks so that each piece fits. One block that does not fit alone
// scrolls: nothing is ever cut off.
function split(card, height) {
  const parts = [card.head, ...card.blocks, card.foot];
  const pieces = [[]];
  let used = 0;
  parts.forEach((p, i) => {
    const h = card.heights[i];
    const spare = p === card.foot ? 0 : MORE;
    if (pieces[pieces.length - 1].length && used + h + spare > height) {
      pieces.push([]);
      used = MORE;
    }
    pieces[pieces.length - 1].push(p);
    used += h;
  });
  card.segments = pieces.map((parts, i) => {
    const node = segment(card, parts, i > 0);
    node.style.maxHeight = height + "px";
    if (i < pieces.length - 1) node.append(el("p", { class: "goes", text: "goes on ▶" }));
    else node.classList.add("end");
    return node;
  });
  card.root = card.segments[0];
  card.last = Math.min(used, height);
}
