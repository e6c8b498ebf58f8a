// What is visible of the board: which page, in which size, which order is selected, how old each one is.
// Nothing here sends anything to the server.

import { byId, el, setting, setText } from "./dom.js";
import { partChip } from "./cards.js";
import { Columns } from "./columns.js";
import { GAP } from "./divide.js";
import {
  fireOf, fireText, isLater, jobsOf, nameOf, sinceOf, tableOf, waitingBand,
} from "./store.js";
import { age, now } from "./time.js";
import { word } from "./words.js";

const NEW_FOR = 20000; // milliseconds for which an order is marked NEW once it is seen, unless it is touched
const AT_ONCE = 300; // orders that are drawn, the oldest first, and how many more beyond the last page
const ROW = 30; // the least width of a row at the pass, in letters' heights
const QUIET = 4000; // milliseconds without a touch before letters grow: nothing moves under a finger

// Sizes of letters, in pixels on a screen of 1920 by 1080; on others in proportion, but never too small to
// read at an arm's length.
const SIZES = { s: [20, 14], m: [26, 16], l: [32, 19], xl: [41, 23] };

// px is a size of letters here.
function px(name) {
  const scale = Math.sqrt(innerWidth * innerHeight) / Math.sqrt(1920 * 1080);
  return Math.round(2 * Math.max(SIZES[name][0] * scale, SIZES[name][1])) / 2;
}

export class Board {
  constructor(app) {
    this.app = app;
    this.node = byId("board");
    this.filter = "";
    this.page = 0;
    this.selected = "";
    this.opened = ""; // of a list: the order that is open
    this.entries = [];
    this.limit = AT_ONCE;
    this.size = 0;
    this.rows = new Map(); // by key: the elements of a list
    this.rowsMovedAt = -Infinity;
    this.later = new Set(); // the keys of orders that are not to be begun yet
    this.newSince = new Map(); // by key: since when a new order can be seen; 0: not yet
    this.unready = { key: "", at: 0 }; // an order that is not ready and was pressed once: a second press sends it
    this.columns = new Columns(this.node, () => ({ setup: app.setup, filter: this.filter }));
  }

  // ---- drawing

  // refresh draws what has changed.
  refresh() {
    const open = this.app.store.open();
    if (this.filter && !this.courses().includes(this.filter)) this.filter = "";
    this.entries = this.filter
      ? open.filter((o) => o.must_ack_void || (o.courses || []).includes(this.filter))
      : open;
    if (this.selected && !this.entries.some((o) => o.key === this.selected)) this.selected = "";
    if (this.opened && !this.app.store.get(this.opened)) this.opened = "";
    if (this.opened && this.app.store.get(this.opened).state !== "open") this.opened = "";
    this.isPhone = innerWidth < 600;
    document.body.classList.toggle("phone", this.isPhone);
    const hasList = this.isPhone || this.app.setup.pass;
    document.body.classList.toggle("opened", hasList && Boolean(this.opened));
    this.isList = hasList && !this.opened;
    document.body.classList.toggle("fixed", Boolean(this.app.setup.fixed) && !hasList);
    this.node.classList.toggle("list", this.isList);
    this.node.classList.toggle("paged", this.isList && !this.isPhone);
    this.sizeBar();
    this.isHidden = setting.get("allday", "panel") === "screen" && !this.isPhone;
    if (!this.isHidden) {
      const orders = hasList ? [this.app.store.get(this.opened)] : this.entries.slice(0, this.limit);
      if (this.isList) this.list();
      else this.columns.layout(orders, this.chooseSize(orders));
      if (this.goWhenThere && this.pageOf(this.goWhenThere) >= 0) {
        this.page = this.pageOf(this.goWhenThere);
        this.selected = this.goWhenThere;
        this.goWhenThere = "";
      }
      this.page = Math.max(0, Math.min(this.page, this.pages - 1));
      if (!this.isList) this.columns.show(this.page);
      else if (!this.isPhone) this.node.scrollLeft = this.page * this.pageWidth();
    }
    this.update();
  }

  // chooseSize returns how large letters are. An automatic size is the largest at which all orders fit on
  // one page, or medium. It shrinks at once, and grows only while the page is not touched.
  chooseSize(orders) {
    const wanted = setting.get("size", "auto");
    if (this.isPhone) return 20;
    if (SIZES[wanted] || this.app.setup.fixed) return px(SIZES[wanted] ? wanted : "m");
    const shape = [this.node.clientWidth, this.node.clientHeight, this.filter, ...orders.map((o) => o.version)].join();
    const isQuiet = performance.now() - this.app.touchedAt > QUIET;
    if (this.size && this.shape === shape && (this.triedLarger || !isQuiet)) return this.size;
    const most = !this.size || isQuiet ? px("xl") : this.size;
    this.triedLarger = !this.size || isQuiet;
    this.shape = shape;
    const fits = orders.length <= 60 && this.columns.largest(orders, px("m"), most);
    return (this.size = fits || px("m"));
  }

  // wantsToGrow reports whether larger letters were not tried yet because the page was touched.
  wantsToGrow() {
    const isAuto = setting.get("size", "auto") === "auto" && !this.isPhone;
    return isAuto && !this.triedLarger && performance.now() - this.app.touchedAt > QUIET;
  }

  // sizeBar gives the bar letters that do not change with an automatic size of the cards: else the bar's height would
  // change with them, and the room that they have.
  sizeBar() {
    const wanted = setting.get("size", "auto");
    const auto = this.app.setup.fixed ? "m" : "xl";
    const most = this.isPhone ? 20 : px(SIZES[wanted] ? wanted : auto);
    document.body.style.setProperty("--bar", Math.max(15, (2 / 3) * most) + "px");
  }

  // list draws one row for each order: on a phone, which scrolls them, and on the pages of a pass. Rows that would be
  // the same stay: a finger may be on them.
  list() {
    this.columns.shape = "";
    this.columns.forget();
    const before = this.rows;
    this.rows = new Map();
    for (const o of this.entries) {
      const node = this.row(o);
      const [html, old] = [node.outerHTML, before.get(o.key)];
      this.rows.set(o.key, old && old.html === html ? old : { node, html });
    }
    const keys = Array.from(before.keys());
    const isAsBefore = keys.join() === Array.from(this.rows.keys()).slice(0, keys.length).join();
    if (!isAsBefore) this.rowsMovedAt = performance.now();
    Array.from(this.rows.values()).forEach(({ node }, n) => {
      if (this.node.children[n] !== node) this.node.insertBefore(node, this.node.children[n] || null);
    });
    while (this.node.children.length > this.rows.size) this.node.removeChild(this.node.lastChild);
    this.fitList();
  }

  row(o) {
    const { pass } = this.app.setup;
    const marks = el("span", { class: "marks" });
    if ((o.alarms || []).length) marks.append(el("span", { class: "alarm", text: "⚠ " + word("allergy") }));
    const band = o.cancelled ? "cancelled" : waitingBand(o);
    if (band) marks.append(el("span", { class: "voided", text: word(band) }));
    if (o.rush) marks.append(el("span", { class: "badge rush", text: word("rush") }));
    for (const p of (!o.cancelled && o.parts) || []) marks.append(partChip(p));
    const toSend = word("send_out") + " " + nameOf(o);
    const ready = { type: "button", class: "act ready", "aria-label": toSend, text: word("ready") };
    return el(
      "div",
      { class: "row card", tabindex: "-1", data: { key: o.key } },
      el(
        "button",
        { type: "button", class: "names" },
        pass && el("kbd", { class: "hint" }),
        el("b", { class: "number", dir: "auto", text: nameOf(o) }),
        el("b", { class: "table", dir: "auto", text: tableOf(o) }),
      ),
      marks,
      !pass && el("span", { class: "left", text: o.left ? word("left", { n: o.left }) : word("all_done") }),
      o.ready && el("button", ready),
      el("span", { class: "age" }, el("b", { class: "word" }), " ", el("span", { class: "time" })),
    );
  }

  // fitList gives the rows of a pass the largest size at which all have room on one page, or medium, in as many
  // columns as there is room for.
  fitList() {
    const { style } = this.node;
    if (this.isPhone) {
      style.columns = style.fontSize = "";
      return;
    }
    const wanted = setting.get("size", "auto");
    this.triedLarger = !this.size || performance.now() - this.app.touchedAt > QUIET;
    const most = this.triedLarger ? Infinity : this.size;
    const sizes = SIZES[wanted] ? [wanted] : ["xl", "l", "m"].filter((s) => px(s) <= most || s === "m");
    for (const s of sizes) {
      this.size = px(s);
      style.fontSize = this.size + "px";
      style.columns = Math.max(1, Math.floor(this.node.clientWidth / (ROW * this.size)));
      if (this.pages === 1) return;
    }
  }

  // pageWidth is from one page of rows to the next: the board's width, less two margins, plus the gap of a column. Each
  // of them is GAP.
  pageWidth() {
    return this.node.clientWidth - GAP;
  }

  pageOfRow(node) {
    const left = node.getBoundingClientRect().left - this.node.getBoundingClientRect().left + this.node.scrollLeft;
    return this.isPhone ? 0 : Math.floor(left / this.pageWidth());
  }

  // pageOf returns the page on which an order begins; -1 if it is not drawn.
  pageOf(key) {
    if (!this.isList) return this.columns.pageOf(key);
    return this.rows.has(key) ? this.pageOfRow(this.rows.get(key).node) : -1;
  }

  // open shows one order of a list; without a key it goes back to the list.
  open(key) {
    this.opened = key;
    this.page = 0;
    if (key) this.select(key);
    this.refresh();
    this.app.turned();
  }

  // update updates what changes about a card without drawing it anew: age, selection, new, pending. None
  // of it may change the card's height.
  update() {
    const { setup, store, connection, keys } = this.app;
    this.cardsOn().forEach(({ key, nodes }, i) => {
      const o = store.get(key);
      if (!o) return;
      if (this.newSince.get(key) === 0 && !(this.isList && this.isPhone)) this.newSince.set(key, performance.now());
      const level = this.level(o);
      for (const node of nodes) {
        const c = node.classList;
        c.toggle("late", level === "late");
        c.toggle("due", level === "due");
        c.toggle("later", level === "later");
        c.toggle("new", this.isNew(key));
        c.toggle("selected", key === this.selected);
        c.toggle("busy", connection.isPending(key));
        const mark = /^(late|due)$/.test(level) ? level : this.isNew(key) && "new";
        setText(node.querySelector(".word"), mark ? word(mark) : "");
        setText(node.querySelector(".time"), level === "later" ? fireText(fireOf(o)) : age(now() - sinceOf(o)));
        for (const item of node.querySelectorAll("[data-fire]"))
          item.classList.toggle("later", isLater(Number(item.dataset.fire)));
        const hint = node.querySelector(".hint");
        if (hint) setText(hint, keys.hints[i] || "");
        const wait = node.querySelector(".act.unready");
        if (wait) setText(wait, word(this.unready.key === key ? "press_again" : "not_ready"));
      }
    });
  }

  // fire marks orders whose time to begin has come as new.
  fire() {
    const open = this.app.store.open();
    const fired = open.filter((o) => this.later.has(o.key) && !isLater(fireOf(o)));
    for (const o of fired) this.newSince.set(o.key, 0);
    this.later = new Set(open.filter((o) => isLater(fireOf(o))).map((o) => o.key));
    if (fired.length) this.app.panels.changed();
  }

  // movedRecently reports whether something came under a finger so recently that a press may have been meant for
  // something else.
  movedRecently(key) {
    return this.isList ? performance.now() - this.rowsMovedAt < 600 : this.columns.movedRecently(key);
  }

  level(o) {
    if (isLater(fireOf(o))) return "later";
    const ms = now() - sinceOf(o);
    return ms >= this.app.setup.late_after ? "late" : ms >= this.app.setup.warn_after ? "due" : "";
  }

  // isNew reports whether an order is new to whoever looks at this page.
  isNew(key) {
    const since = this.newSince.get(key);
    if (since === undefined) return false;
    if (since === 0 || performance.now() - since < NEW_FOR) return true;
    this.newSince.delete(key);
    return false;
  }

  // ---- pages and selection

  // cardsOn returns the orders that can be seen now, with all the elements of each.
  cardsOn() {
    if (this.isHidden) return [];
    if (this.isList)
      return Array.from(this.node.children, (node) => ({ key: node.dataset.key, node, nodes: [node] })).filter(
        ({ node }) => this.pageOfRow(node) === this.page,
      );
    return this.columns.cardsOn(this.page).map((c) => ({ ...c, nodes: this.columns.cards.get(c.key).segments }));
  }

  // visibleJobs returns the tickets that can be read now.
  visibleJobs() {
    if (this.isList || document.hidden) return [];
    const orders = this.cardsOn().map((c) => this.app.store.get(c.key));
    return [].concat(...orders.filter(Boolean).map(jobsOf));
  }

  isVisible(key) {
    return !(this.isList && this.isPhone) && this.cardsOn().some((c) => c.key === key);
  }

  get pages() {
    if (this.isHidden || (this.isList && !this.rows.size)) return 1;
    return this.isList ? this.pageOfRow(this.node.lastChild) + 1 : this.columns.pages;
  }

  // hasMore reports whether there are orders that are not drawn; hasPage whether there is such a page.
  hasMore() {
    return !this.isPhone && !this.app.setup.pass && this.entries.length > this.limit;
  }

  hasPage(page) {
    return page >= 0 && (page < this.pages || this.hasMore());
  }

  goTo(page) {
    if (page >= this.pages && this.hasMore()) this.limit += AT_ONCE;
    else if (page === 0) this.limit = AT_ONCE;
    this.page = page;
    this.selected = "";
    this.refresh();
    this.app.turned();
  }

  // find goes to an order, wherever it is.
  find(key) {
    if (this.isPhone) return this.open(key);
    if (this.opened) this.open("");
    if (this.filter && !this.entries.some((o) => o.key === key)) this.setFilter("");
    while (this.pageOf(key) < 0 && this.hasMore()) {
      this.limit += AT_ONCE;
      this.refresh();
    }
    const page = this.pageOf(key);
    if (page < 0) return;
    if (page !== this.page) this.goTo(page);
    this.select(key);
  }

  select(key, focus = true) {
    if (!key) return;
    if (this.selected !== key) {
      this.selected = key;
      this.update();
    }
    this.newSince.delete(key);
    this.app.bar.noteLooked(key);
    if (focus) this.focusSelected();
  }

  focusSelected() {
    const placed = this.cardsOn().find((c) => c.key === this.selected);
    if (!placed || placed.nodes.some((n) => n.contains(document.activeElement))) return;
    // If the card was drawn anew, the focus goes back to the item that had it.
    const again =
      this.lastItem &&
      this.lastItem.key === this.selected &&
      placed.nodes.map((n) => n.querySelector('button.item[data-items="' + this.lastItem.items + '"]')).find(Boolean);
    (again || placed.node).focus({ preventScroll: true });
  }

  // nextItem puts the focus on the next item of the selected card.
  nextItem() {
    const placed = this.cardsOn().find((c) => c.key === this.selected);
    if (!placed) return;
    const items = []
      .concat(...placed.nodes.map((n) => Array.from(n.querySelectorAll("button.item, button.tick"))))
      .filter((b) => b.isConnected);
    if (!items.length) return;
    const next = items[(items.indexOf(document.activeElement) + 1) % items.length];
    this.lastItem = { key: this.selected, items: next.dataset.items };
    next.focus({ preventScroll: true });
  }

  move(dx, dy) {
    const list = this.cardsOn();
    if (!list.length) return;
    const at = list.findIndex((s) => s.key === this.selected);
    this.lastItem = null;
    if (at < 0) return this.select(list[0].key);
    if (dy || this.isList) {
      const [by, next] = [dy || dx, list[at + (dy || dx)]];
      if (next) return this.select(next.key);
      if (!this.isList || !this.hasPage(this.page + by)) return;
      this.goTo(this.page + by);
      const there = this.cardsOn();
      return this.select(there[by > 0 ? 0 : there.length - 1].key);
    }
    const here = list[at];
    const top = (s) => s.node.getBoundingClientRect().top;
    const beside = list.filter((s) => (dx > 0 ? s.column > here.column : s.column < here.column));
    if (!beside.length) {
      if (!this.hasPage(this.page + dx)) return;
      this.goTo(this.page + dx);
      const there = this.cardsOn();
      if (there.length) this.select(there[dx > 0 ? 0 : there.length - 1].key);
      return;
    }
    const column = dx > 0 ? Math.min(...beside.map((s) => s.column)) : Math.max(...beside.map((s) => s.column));
    const near = beside.filter((s) => s.column === column);
    near.sort((a, b) => Math.abs(top(a) - top(here)) - Math.abs(top(b) - top(here)));
    this.select(near[0].key);
  }

  goToEnd(first) {
    this.goTo(first ? 0 : this.pages - 1);
    const on = this.cardsOn();
    if (on.length) this.select(on[first ? 0 : on.length - 1].key);
  }

  courses() {
    const names = new Set();
    for (const o of this.app.store.open()) for (const c of o.courses || []) names.add(c);
    return Array.from(names);
  }

  setFilter(name) {
    this.filter = name;
    this.page = 0;
    this.refresh();
    this.app.turned();
  }
}
