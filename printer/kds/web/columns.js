// Places the cards in columns that fill the screen, oldest first, on pages. Nothing scrolls: a cook
// with wet hands cannot. A card that is higher than the screen continues in the next column.

import { el, removeChildren } from "./dom.js";

const GAP = 10;

export class Columns {
  // renderCard renders an entry: see cards.js
  constructor(board, renderCard) {
    this.board = board;
    this.renderCard = renderCard;
    this.measure = el("div", { class: "column measure", "aria-hidden": "true" });
    this.cards = new Map(); // by key
    this.columns = []; // the columns of all pages, each a list of segments
    this.pages = 1;
    this.perPage = 1;
    this.moved = new Map(); // by key: where the card is, and since when
  }

  // forget makes the next layout render all cards anew.
  forget() {
    this.cards.clear();
  }

  // layout finds the place of every card. variant(entry) must change when a card of the same
  // version is to be rendered differently.
  layout(entries, variant) {
    const width = this.fitColumns();
    const height = this.board.clientHeight - GAP;
    const keys = new Set();
    const changed = [];
    for (const entry of entries) {
      keys.add(entry.key);
      const signature = variant(entry) + "/" + width + "/" + height;
      const old = this.cards.get(entry.key);
      if (!old || old.entry !== entry || old.signature !== signature) changed.push([entry, signature]);
    }
    for (const key of this.cards.keys()) if (!keys.has(key)) this.cards.delete(key);
    this.build(changed, width, height);
    this.fill(entries, height);
  }

  // fitColumns chooses how many columns there are and returns their width.
  fitColumns() {
    const least = parseFloat(getComputedStyle(this.board).getPropertyValue("--column")) || 300;
    const room = this.board.clientWidth - GAP;
    this.perPage = Math.max(1, Math.floor(room / (least + GAP)));
    const width = Math.floor(room / this.perPage) - GAP;
    if (this.board.children.length !== this.perPage + 1 || this.width !== width) {
      removeChildren(this.board);
      for (let i = 0; i < this.perPage; i++) this.board.append(el("div", { class: "column" }));
      this.board.append(this.measure);
      for (const c of this.board.children) c.style.width = width + "px";
      this.width = width;
    }
    return width;
  }

  // build renders cards and measures them, all in one go so that the browser computes their layout
  // only once.
  build(changed, width, height) {
    const made = [];
    for (const [entry, signature] of changed) {
      const card = this.renderCard(entry);
      card.signature = signature;
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
      // A button with a new meaning is like another card under the finger.
      if (old && m && old.foot.textContent !== card.foot.textContent) m.at = performance.now();
      this.cards.set(card.entry.key, card);
    }
    removeChildren(this.measure);
  }

  // fill puts the cards into columns and notes which of them moved.
  fill(entries, height) {
    const columns = [[]];
    let used = 0;
    for (const entry of entries) {
      const card = this.cards.get(entry.key);
      if (card.segments.length > 1) {
        if (columns[columns.length - 1].length) columns.push([]);
        for (const s of card.segments)
          columns[columns.length - 1].length ? columns.push([s]) : columns[columns.length - 1].push(s);
        used = card.lastHeight;
      } else {
        if (used && used + card.height > height) {
          columns.push([]);
          used = 0;
        }
        columns[columns.length - 1].push(card.root);
        used += card.height;
      }
      used += GAP;
      const position = columns.length + ":" + columns[columns.length - 1].length;
      const before = this.moved.get(entry.key);
      if (!before) this.moved.set(entry.key, { position, at: this.filledOnce ? performance.now() : -Infinity });
      else if (before.position !== position) Object.assign(before, { position, at: performance.now() });
    }
    this.filledOnce = true; // from now on a card that moves may be under a finger
    for (const key of this.moved.keys()) if (!this.cards.has(key)) this.moved.delete(key);
    this.columns = columns;
    this.pages = Math.max(1, Math.ceil(columns.length / this.perPage));
  }

  // show shows one page. Elements that stay are not touched: a finger may be on them.
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

  // cardsOn returns the keys of the cards on a page, in order, each with the column and row where
  // it begins.
  cardsOn(page) {
    const list = [];
    for (let i = 0; i < this.perPage; i++) {
      (this.columns[page * this.perPage + i] || []).forEach((node, row) => {
        const key = node.dataset.key;
        if (!list.some((c) => c.key === key)) list.push({ key, column: i, row, node });
      });
    }
    return list;
  }

  // pageOf returns the page on which a card begins; -1 without one.
  pageOf(key) {
    const i = this.columns.findIndex((c) => c.some((node) => node.dataset.key === key));
    return i < 0 ? -1 : Math.floor(i / this.perPage);
  }

  // movedRecently reports whether a card came to its place so recently that a press may have been
  // meant for another one.
  movedRecently(key) {
    const m = this.moved.get(key);
    return Boolean(m) && performance.now() - m.at < 400;
  }
}

function segment(card, parts, isContinuation) {
  const root = el(isContinuation ? "section" : "article", {
    class: isContinuation ? "card continuation" : "card",
    tabindex: "-1",
    data: { key: card.entry.key },
    "aria-labelledby": isContinuation ? null : "h-" + card.entry.key,
    "aria-label": isContinuation ? card.entry.head + ", continued" : null,
  });
  const body = el("div", { class: "body" });
  if (parts[0] === card.head) root.append(parts.shift());
  else root.append(el("p", { class: "continued", text: "… " + card.entry.head + " continued" }));
  root.append(body);
  for (const p of parts) (p === card.foot ? root : body).append(p);
  return root;
}

// CONTINUED_HEIGHT is the space kept for the line that says that a card continues (.continued).
const CONTINUED_HEIGHT = 34;

// split divides a card between blocks so that each segment fits. A single block that does not fit
// scrolls: nothing is ever cut off.
function split(card, height) {
  const parts = [card.head, ...card.blocks, card.foot];
  const pieces = [[]];
  let used = 0;
  parts.forEach((p, i) => {
    const h = card.heights[i];
    const reserved = p === card.foot ? 0 : CONTINUED_HEIGHT;
    if (pieces[pieces.length - 1].length && used + h + reserved > height) {
      pieces.push([]);
      used = CONTINUED_HEIGHT;
    }
    pieces[pieces.length - 1].push(p);
    used += h;
  });
  card.segments = pieces.map((parts, i) => {
    const node = segment(card, parts, i > 0);
    node.style.maxHeight = height + "px";
    if (i < pieces.length - 1) node.append(el("p", { class: "continued", text: "continued ▶" }));
    else node.classList.add("end");
    return node;
  });
  card.root = card.segments[0];
  card.lastHeight = Math.min(used, height);
}
