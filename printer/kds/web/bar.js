// The bar along the edge: counts, pages, Undo, messages, and what a cook must know of orders that are on
// another page. Each kind of news has a sound.

import { byId, el, removeChildren, setText } from "./dom.js";
import { courseName, nameOf, sinceOf, waitingBand } from "./store.js";
import { age, clock, now } from "./time.js";
import { word } from "./words.js";

// The kinds of news, the most urgent first.
export const KINDS = ["void", "allergy", "ready", "late", "new"];

export class Bar {
  constructor(app) {
    this.app = app;
    this.known = null; // by key: the kinds of news that were told
    this.read = new Map(); // by key: the kinds that a cook has answered
    this.repeatedAt = performance.now();
    this.offer = null; // what can be undone, with the name of the order: {name, until, undo}
    byId("undo").addEventListener("click", () => this.undo());
  }

  // update shows everything anew.
  update() {
    const { board, setup, store } = this.app;
    const open = store.open();
    const [n, all] = [board.entries.length, open.length];
    setText(byId("count"), board.filter ? word("open_of", { n, all }) : word("open", { n }));
    document.title = "(" + open.length + ") " + setup.title;
    setText(byId("clock"), clock(now()));
    const oldest = open.reduce((least, o) => Math.min(least, sinceOf(o)), Infinity);
    setText(byId("oldest"), all ? " · " + word("oldest", { age: age(now() - oldest) }) : "");
    byId("empty").hidden = board.entries.length > 0;
    setText(byId("empty"), word(board.filter ? "no_orders_with" : "no_orders", { course: courseName(board.filter) }));
    const course = byId("course");
    course.hidden = board.courses().length === 0;
    setText(course, word(board.filter ? "only" : "course", { course: courseName(board.filter) }));
    course.classList.toggle("on", Boolean(board.filter));
    byId("bar").classList.toggle("many", board.pages > 1 || board.hasMore());
    setText(byId("pagenumber"), board.page + 1 + " / " + board.pages + (board.hasMore() ? "+" : ""));
    byId("previous").disabled = board.page === 0;
    byId("next").disabled = !board.hasPage(board.page + 1);
    this.updateUndo();
    this.tell(open);
    this.chips(open);
  }

  // kindsOf returns the kinds of news about an order.
  kindsOf(o) {
    const { board, setup } = this.app;
    const is = {
      void: waitingBand(o),
      allergy: o.must_ack_alarm,
      ready: setup.pass && o.ready,
      late: board.level(o) === "late",
      new: board.isNew(o.key),
    };
    return KINDS.filter((k) => is[k]);
  }

  // tell plays a sound for the news since the last time, and again until a cook answers.
  tell(open) {
    const before = this.known;
    this.known = new Map(open.map((o) => [o.key, this.kindsOf(o)]));
    const fresh = new Set(),
      waiting = new Set();
    for (const o of open) {
      const kinds = this.known.get(o.key);
      const read = (this.read.get(o.key) || []).filter((k) => kinds.includes(k));
      this.read.set(o.key, read);
      // Of an order that is new and has an allergy, the allergy is heard.
      const first = kinds.find((k) => before && !(before.get(o.key) || []).includes(k));
      if (first) fresh.add(first);
      for (const k of kinds) if (!read.includes(k)) waiting.add(k);
    }
    for (const key of this.read.keys()) if (!this.known.has(key)) this.read.delete(key);
    for (const k of KINDS) if (fresh.has(k)) this.app.sound.play(k);
    const every = this.app.setup.repeat * 1000;
    if (fresh.size || !every) this.repeatedAt = performance.now();
    else if (performance.now() - this.repeatedAt > every) {
      this.repeatedAt = performance.now();
      for (const k of KINDS) if (waiting.has(k)) this.app.sound.play(k);
    }
  }

  // noteLooked notes that a cook has looked at an order. A void or an allergy needs its own button.
  noteLooked(key) {
    this.read.set(key, ["ready", "late", "new"]);
  }

  // chips shows the news that is on other pages or, if sounds are repeated, that no cook has answered.
  chips(open) {
    const { board, setup } = this.app;
    const want = [];
    for (const kind of KINDS) {
      const orders = open.filter((o) => {
        if (!this.known.get(o.key).includes(kind)) return false;
        return !board.isVisible(o.key) || (setup.repeat > 0 && !this.read.get(o.key).includes(kind));
      });
      if (!orders.length) continue;
      const more = orders.length > 2 ? " +" + (orders.length - 2) : "";
      const names = orders.slice(0, 2).map(nameOf).join(" ") + more;
      want.push([kind, word(kind), names, () => this.go(orders[0].key)]);
    }
    const unseen = this.unseen(open);
    if (unseen.length) {
      const go = () => this.go(unseen[0].key);
      want.push(["unseen", word("tickets", { n: unseen.length }), word("not_paged_to"), go]);
    }
    const box = byId("alerts");
    const signature = JSON.stringify(want);
    if (box.dataset.signature === signature) return;
    box.dataset.signature = signature;
    removeChildren(box);
    for (const [kind, word, names, click] of want)
      box.append(
        el(
          "button",
          { type: "button", class: "chip " + kind, on: { click } },
          el("b", { text: word }),
          " ",
          el("span", { dir: "auto", text: names }),
        ),
      );
  }

  // go goes to the order of a chip. The board notes that a cook has looked at it, see noteLooked.
  go(key) {
    this.app.board.find(key);
    this.update();
  }

  // unseen returns the orders of tickets that have been on the board for a while, and on no visible page:
  // one for each ticket.
  unseen(open) {
    const after = this.app.setup.unseen_after;
    if (!after) return [];
    const is = (t) => t.state === "open" && !t.seen && now() - t.at > after;
    return [].concat(...open.map((o) => (o.tickets || []).filter(is).map(() => o)));
  }

  // ---- Undo and messages

  // offerUndo offers to undo the latest change, which is one of that order. There is one offer at a time.
  offerUndo(name, until, undo) {
    this.offer = { name, until, undo };
    this.updateUndo();
    if (this.undoNext) this.undo();
  }

  updateUndo() {
    const b = byId("undo");
    if (this.offer && this.offer.until <= now()) this.offer = null;
    b.disabled = !this.offer;
    const n = this.offer && Math.ceil((this.offer.until - now()) / 1000);
    setText(b.firstElementChild, word(this.offer ? "undo_for" : "undo", { n }));
    setText(b.lastElementChild, this.offer ? this.offer.name : "");
  }

  undo() {
    const offer = this.offer;
    // Of a change that is not answered yet there is no offer, but it is the one that is meant.
    this.undoNext = !offer && this.app.connection.pending.size > 0;
    if (this.undoNext) return;
    if (!offer) return this.say(word("no_undo"));
    this.offer = null;
    this.updateUndo();
    offer.undo();
  }

  // say shows a message for a few seconds, at the left end of the bar.
  say(text, kind) {
    const m = byId("message");
    m.className = kind || "";
    setText(m, text);
    clearTimeout(this.saying);
    this.saying = setTimeout(() => setText(m, ""), 7000);
  }
}
