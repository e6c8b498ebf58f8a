// Places the cards in columns that fill the screen, oldest first, on pages. Nothing scrolls: a cook with
// wet hands cannot. A card that does not fit flows on in the next column, with its head repeated.

import { el, removeChildren } from "./dom.js";
import { Card, itemElement } from "./cards.js";
import { GAP, columnsOf, divide, isInside, place } from "./divide.js";
import { Places } from "./places.js";
import { nameOf, waitingBand } from "./store.js";
import { word } from "./words.js";

const WIDTH = 11.5; // of a column at least, in letters' heights: a name and its table fit on one line
// How much a row or a button grows at most, in a column that has pixels left: GROWTH pixels, and not more than this
// part of the letters' size, so that the rows of small letters do not look stretched.
const GROWTH = 12;
const GROWTH_OF_SIZE = 0.6;

export class Columns {
  // options() returns what cards are drawn with
  constructor(board, options) {
    this.board = board;
    this.options = options;
    this.measure = el("div", { class: "column measure", "aria-hidden": "true" });
    this.cards = new Map(); // by key
    this.columns = []; // the columns of all pages, each a list of elements
    this.pages = 1;
    this.perPage = 1;
    this.places = new Map(); // by shape of the board, if they are fixed
    this.moved = new Map(); // by key: where the card is, and since when
  }

  // forget makes the next layout draw all cards anew.
  forget() {
    this.cards.clear();
  }

  // geometry is how many columns there are for letters of a size (pixels), and their width and height.
  geometry(size) {
    const room = this.board.clientWidth - GAP;
    const n = Math.max(1, Math.floor(room / (WIDTH * size + GAP)));
    return { size, perPage: n, width: Math.floor(room / n) - GAP, height: this.board.clientHeight - 2 * GAP };
  }

  // largest returns the largest size, in steps of half a pixel, at which all orders have room on one page; 0 if
  // they have none at the least one. It changes nothing.
  largest(orders, least, most) {
    const cards = orders.map((o) => new Card(o, this.options()));
    const fits = (size) => {
      const to = this.geometry(size);
      this.takeSizes(cards, to);
      return columnsOf(cards, to.height, true) <= to.perPage;
    };
    // Of the sizes with one number of columns the larger ones need more room. With fewer, wider columns a larger size
    // may need less, so each number of columns is searched alone, the largest letters first.
    const sizes = new Map();
    for (let s = most; s >= least; s -= 0.5) {
      const { perPage } = this.geometry(s);
      sizes.set(perPage, [s, ...(sizes.get(perPage) || [])]);
    }
    for (const list of sizes.values()) {
      if (!fits(list[0])) continue;
      let [low, high] = [0, list.length];
      while (high - low > 1) {
        const middle = (low + high) >> 1;
        if (fits(list[middle])) low = middle;
        else high = middle;
      }
      return list[low];
    }
    return 0;
  }

  // layout finds the place of every card.
  layout(orders, size) {
    const to = this.geometry(size);
    const options = this.options();
    const shape = [to.width, to.height, size, options.filter].join("/");
    if (this.shape !== shape || this.board.lastChild !== this.measure) {
      this.shape = shape;
      if (!this.places.has(shape)) this.places.set(shape, new Places(GAP));
      this.cards.clear();
      removeChildren(this.board);
      this.board.style.fontSize = size + "px";
      for (let i = 0; i < to.perPage; i++) this.board.append(el("div", { class: "column" }));
      this.board.append(this.measure);
      for (const c of this.board.children) c.style.width = to.width + "px";
      this.perPage = to.perPage;
    }
    const keys = new Set(orders.map((o) => o.key));
    for (const key of this.cards.keys()) if (!keys.has(key)) this.cards.delete(key);
    const changed = orders.filter((o) => !this.cards.has(o.key) || this.cards.get(o.key).order !== o);
    const drawn = changed.map((o) => new Card(o, options));
    this.takeSizes(drawn, to);
    for (const card of drawn) {
      const [old, m] = [this.cards.get(card.order.key), this.moved.get(card.order.key)];
      // A button with a new meaning is like another card under the finger.
      if (old && m && String(old.act) !== String(card.act)) m.at = performance.now();
      card.drawn = card.foot.parentNode.outerHTML; // the whole card, as takeSizes has drawn it
      // Elements that would be the same stay: a finger may be on them, and its press would be lost.
      if (old && old.drawn === card.drawn)
        for (const k of ["blocks", "foot", "cut", "segments"]) card[k] = old[k];
      this.cards.set(card.order.key, card);
    }
    this.fill(orders, to);
  }

  // takeSizes measures cards, all in one go so that the browser computes their layout only once.
  takeSizes(cards, { size, width }) {
    removeChildren(this.measure);
    if (!this.measure.isConnected) this.board.append(this.measure);
    this.measure.style.width = width + "px";
    this.measure.style.fontSize = size + "px";
    const heads = cards.map((card) => {
      const [once, again] = [card.head(1, 1), card.head(20, 20)];
      this.measure.append(shell(card, 1, 1, once, again, ...inItems(card.blocks), card.foot));
      return [once, again];
    });
    const height = (node) => node.getBoundingClientRect().height;
    cards.forEach((card, n) => {
      [card.headHeight, card.againHeight] = heads[n].map(height);
      card.footHeight = height(card.foot);
      for (const b of card.blocks) {
        b.height = height(b.node);
        b.whole = b.item ? height(b.node.parentNode) : b.height;
        b.again = b.item ? height(b.node.parentNode.firstChild) : 0; // of the name of its item
      }
    });
    removeChildren(this.measure);
  }

  // fill puts the cards into columns and notes which of them moved.
  fill(orders, { size, height }) {
    const columns = [];
    const add = (i, node) => {
      while (columns.length <= i) columns.push([]);
      columns[i].push(node);
    };
    const left = []; // pixels that each column has left
    const cards = orders.map((o) => this.cards.get(o.key));
    const isFixed = this.options().setup.fixed;
    const tops = new Map(); // of the elements of cards in fixed places
    const show = (i, card, segments, top) => {
      const cut = segments.map((s) => s.to).join();
      if (card.cut !== cut) {
        card.cut = cut;
        card.segments = segments.map((s, n) => segment(card, s, n + 1, segments.length));
        card.segments.forEach((node, n) => n < segments.length - 1 && node.append(el("p", { class: "more" })));
      }
      card.first = i;
      card.segments.forEach((node, n) => {
        add(i + n, node);
        tops.set(node, { top: n ? 0 : top, bottom: (n ? 0 : top) + segments[n].height + GAP });
      });
      segments.forEach((s, n) => {
        left[i + n] = (left[i + n] === undefined ? height + GAP : left[i + n]) - s.height - GAP;
      });
      const position = i + ":" + (isFixed ? top : columns[i].length);
      const before = this.moved.get(card.order.key);
      const at = this.filledOnce ? performance.now() : -Infinity;
      if (!before) this.moved.set(card.order.key, { position, at });
      else if (before.position !== position) Object.assign(before, { position, at });
    };
    const whole = (card) => divide(card, height, height);
    if (isFixed) this.places.get(this.shape).place(cards, height, this.perPage, whole, show);
    else place(cards, height, columnsOf(cards, height, false) > this.perPage, show);
    if (isFixed) for (const nodes of columns) setMargins(nodes, tops);
    for (const card of cards)
      card.segments.forEach((node, n) => {
        if (n === card.segments.length - 1) return;
        const turns = (card.first + n + 1) % this.perPage === 0;
        const page = Math.floor((card.first + n + 1) / this.perPage) + 1;
        const where = word(turns ? "continues_on" : "continues", { page });
        node.lastChild.textContent = n + 1 + "/" + card.segments.length + " " + where;
      });
    this.filledOnce = true; // from now on a card that moves may be under a finger
    for (const key of this.moved.keys()) if (!this.cards.has(key)) this.moved.delete(key);
    this.columns = columns;
    // What is left remains empty at the end of the last column: there are no more orders.
    const most = Math.min(GROWTH, GROWTH_OF_SIZE * size);
    this.growth = columns.map((nodes, i) => {
      const rows = nodes.reduce((sum, node) => sum + node.querySelectorAll(".item, .foot .act").length, 0);
      return i < columns.length - 1 && rows && !isFixed ? Math.min(most, left[i] / rows) : 0;
    });
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
      holder.style.setProperty("--grow", (this.growth[page * this.perPage + i] || 0) + "px");
    }
  }

  // cardsOn returns the keys of the cards on a page, in order, each with the column where it begins.
  cardsOn(page) {
    const list = [];
    for (let i = 0; i < this.perPage; i++)
      (this.columns[page * this.perPage + i] || []).forEach((node) => {
        const key = node.dataset.key;
        if (!list.some((c) => c.key === key)) list.push({ key, column: i, node });
      });
    return list;
  }

  // pageOf returns the page on which a card begins, lastPageOf where it ends; -1 without one.
  pageOf(key) {
    const card = this.cards.get(key);
    return card && card.segments ? Math.floor(card.first / this.perPage) : -1;
  }

  lastPageOf(key) {
    const card = this.cards.get(key);
    return card ? Math.floor((card.first + card.segments.length - 1) / this.perPage) : -1;
  }

  // movedRecently reports whether a card came to its place so recently that a press may have been
  // meant for another one.
  movedRecently(key) {
    const m = this.moved.get(key);
    return Boolean(m) && performance.now() - m.at < 600;
  }
}

// setMargins puts the elements of a column where they belong. tops has the top and the bottom of each.
function setMargins(nodes, tops) {
  let end = 0;
  nodes.sort((a, b) => tops.get(a).top - tops.get(b).top);
  for (const node of nodes) {
    const free = tops.get(node).top - end;
    node.style.marginTop = (free && end ? free + GAP : free) + "px"; // it has the margin above in it
    end = tops.get(node).bottom;
  }
}

// segment makes the element of one piece of a card.
function segment(card, { from, to }, part, of) {
  const repeated = part > 1 && card.repeats ? card.blocks.slice(0, card.alarmBlocks) : [];
  return shell(
    card,
    part,
    of,
    card.head(part, of),
    ...repeated.map((b) => b.node.cloneNode(true)),
    ...inItems(card.blocks.slice(from, to), isInside(card.blocks, from)),
    part === of && card.foot,
  );
}

// inItems puts the lines of each item into its element. If the first item began in another column, its name
// is repeated: a modifier alone says nothing.
function inItems(blocks, beginsInside) {
  const nodes = [];
  let holder = null,
    item = null;
  for (const b of blocks) {
    if (!b.item) nodes.push(b.node);
    else {
      if (b.item !== item) nodes.push((holder = itemElement(b.item)));
      if (beginsInside && b === blocks[0])
        holder.append(el("span", { class: "line again", dir: "auto", text: "… " + b.item.name.slice(0, 40) }));
      holder.append(b.node);
    }
    item = b.item;
  }
  return nodes;
}

function shell(card, part, of, ...nodes) {
  const o = card.order;
  return el(
    part === 1 ? "article" : "section",
    {
      class: "card" + (waitingBand(o) ? " voiding" : "") + (part > 1 ? " continuation" : ""),
      tabindex: "-1",
      data: { key: o.key },
      "aria-label": nameOf(o) + (of > 1 ? ", " + word("part_of", { part, of }) : ""),
    },
    ...nodes,
  );
}
