// What is seen of the board: which page of it, which card is selected, how old each one is. It is
// the half of the page that asks the server for nothing.

import { byId, el, empty, kept, setText } from "./dom.js";
import { age, clock, now } from "./time.js";

const NEW_FOR = 20000; // milliseconds that a ticket is called new, unless it is touched
// So many tickets are drawn, the oldest, and as many again whenever somebody turns beyond them. No
// kitchen has so many open; a board that was left alone for a week has, and must not stand still.
const REACH = 300;
const BACK_TO_FIRST = 60000; // after so long without a touch the oldest tickets are shown again

export class View {
  // ---- drawing

  later() {
    if (this.waiting) return;
    this.waiting = true;
    // A browser in the background draws nothing, and the timer keeps it right all the same.
    const draw = () => {
      if (!this.waiting) return;
      this.waiting = false;
      this.refresh();
      this.live.answer();
    };
    requestAnimationFrame(draw);
    setTimeout(draw, 200);
  }

  redraw() {
    this.columns.forget();
    this.refresh();
  }

  refresh() {
    const open = this.store.open();
    const all = this.courses();
    if (this.filter && !all.includes(this.filter)) this.filter = "";
    this.entries = this.filter ? open.filter((e) => e.courses.includes(this.filter) || e.mustAck) : open;
    this.columns.layout(this.entries.slice(0, this.reach || REACH), () => this.filter);
    if (this.follow && this.columns.pageOf(this.follow) >= 0) {
      this.page = this.columns.pageOf(this.follow);
      this.selected = this.follow;
      this.follow = "";
    }
    this.page = Math.max(0, Math.min(this.page, this.columns.pages - 1));
    if (this.selected && !this.entries.some((e) => e.key === this.selected)) this.selected = "";
    this.columns.show(this.page);
    this.bar(open);
    this.marks();
    this.tick();
    this.panels.changed();
    if (this.selected && !this.panels.open) this.focusSelected();
  }

  // bar is the counts, the pages, and what is to be seen on other ones.
  bar(open) {
    const shownText = this.filter ? this.entries.length + " of " + open.length + " open" : open.length + " open";
    setText(byId("count"), shownText);
    document.title = "(" + open.length + ") " + this.setup.title;
    byId("empty").hidden = this.entries.length > 0;
    setText(byId("empty").firstElementChild, this.filter ? "No open tickets with " + this.filter : "No open tickets");
    const course = byId("course");
    course.hidden = this.courses().length === 0;
    setText(course, this.filter ? "Only: " + this.filter : "Course");
    course.classList.toggle("on", Boolean(this.filter));
    document.body.classList.toggle("filtered", Boolean(this.filter));
    const many = this.columns.pages > 1;
    byId("bar").classList.toggle("many", many);
    setText(byId("where"), this.page + 1 + " / " + this.columns.pages + (this.more() ? "+" : ""));
    byId("previous").disabled = this.page === 0;
    byId("next").disabled = !this.has(this.page + 1);
    this.alerts();
  }

  // alerts leads to what a cook must see and is on another page.
  alerts() {
    const box = byId("alerts");
    const off = (f) => this.entries.filter((e) => f(e) && this.columns.pageOf(e.key) !== this.page);
    const voided = off((e) => e.mustAck),
      fresh = off((e) => this.isNew(e.key));
    const page = (e) => (this.columns.cards.has(e.key) ? this.columns.pageOf(e.key) : this.columns.pages);
    const want = [];
    if (voided.length) want.push(["void", "VOID on page " + (page(voided[0]) + 1), page(voided[0])]);
    if (fresh.length) want.push(["new", fresh.length + " new on page " + (page(fresh[0]) + 1), page(fresh[0])]);
    const sign = JSON.stringify(want);
    if (box.dataset.sign === sign) return;
    box.dataset.sign = sign;
    empty(box);
    for (const [kind, text, page] of want)
      box.append(el("button", { type: "button", class: kind, text, on: { click: () => this.goTo(page) } }));
  }

  // marks is what changes about a card without its being drawn anew; none of it changes its height.
  marks() {
    const on = this.columns.on(this.page);
    byId("print").hidden = !this.selected || !this.setup.print || this.setup.expo;
    on.forEach((spot, i) => {
      const card = this.columns.cards.get(spot.key);
      const e = card.entry;
      const lates = now() - e.since;
      const level = lates >= this.setup.late_after ? "late" : lates >= this.setup.warn_after ? "due" : "";
      const fresh = this.isNew(spot.key);
      for (const node of card.segments) {
        const c = node.classList;
        c.toggle("late", level === "late");
        c.toggle("due", level === "due");
        c.toggle("new", fresh);
        c.toggle("void", e.void);
        c.toggle("acked", e.void && !e.mustAck);
        c.toggle("selected", spot.key === this.selected);
        c.toggle("busy", this.sender.busy(spot.key));
      }
      setText(card.word, level === "late" ? "LATE" : level === "due" ? "DUE" : fresh ? "NEW" : "");
      setText(card.time, age(lates));
      setText(card.head.querySelector(".hint"), i < 10 ? String((i + 1) % 10) : "");
      const b = card.foot.firstChild;
      if (this.setup.expo && !e.ready)
        setText(b, this.sure.key === spot.key ? "Press again to send out" : "Not ready yet");
    });
  }

  isNew(key) {
    const since = this.fresh.get(key);
    if (since === undefined) return false;
    if (performance.now() - since < NEW_FOR) return true;
    this.fresh.delete(key);
    return false;
  }

  tick() {
    setText(byId("clock"), clock(now()));
    const oldest = this.entries.reduce((least, e) => (least && least < e.since ? least : e.since), 0);
    setText(byId("oldest"), oldest ? " · oldest " + age(now() - oldest) : "");
    if (this.sure.key && performance.now() - this.sure.at > 4000) this.sure.key = "";
    this.marks();
    this.alerts();
    if (this.page > 0 && performance.now() - this.touched > BACK_TO_FIRST && !this.panels.open) this.goTo(0);
  }

  look() {
    const root = document.documentElement;
    root.dataset.theme = kept.get("theme", "auto");
    root.dataset.size = kept.get("size", "m");
    if (this.entries) this.redraw();
  }

  wakeButton() {
    byId("wake").hidden = !this.sound.asleep();
  }

  // ---- pages and selection

  turn(by) {
    this.goTo(this.page + by);
  }

  // more says that there are tickets that are not drawn, has that there is such a page.
  more() {
    return this.entries.length > (this.reach || REACH);
  }

  has(page) {
    return page >= 0 && (page < this.columns.pages || this.more());
  }

  goTo(page) {
    if (page >= this.columns.pages && this.more()) this.reach = (this.reach || REACH) + REACH;
    else if (page === 0) this.reach = REACH;
    this.page = page;
    this.selected = "";
    this.refresh();
  }

  select(key, focus = true) {
    if (!key) return;
    if (this.selected !== key) {
      this.selected = key;
      this.fresh.delete(key);
      this.marks();
    }
    if (focus) this.focusSelected();
  }

  focusSelected() {
    const spot = this.columns.on(this.page).find((s) => s.key === this.selected);
    if (!spot) return;
    const segments = this.columns.cards.get(this.selected).segments;
    if (segments.some((s) => s.contains(document.activeElement))) return;
    // A card that was drawn anew has the item again that had the focus.
    const again =
      this.lastItem &&
      this.lastItem.key === this.selected &&
      segments.map((s) => s.querySelector('button.item[data-item="' + this.lastItem.item + '"]')).find(Boolean);
    (again || spot.node).focus({ preventScroll: true });
  }

  move(dx, dy) {
    const list = this.columns.on(this.page);
    if (!list.length) return;
    const at = list.findIndex((s) => s.key === this.selected);
    this.lastItem = null;
    if (at < 0) return this.select(list[0].key);
    if (dy) {
      const next = list[at + dy];
      if (next) this.select(next.key);
      return;
    }
    const here = list[at];
    const top = here.node.getBoundingClientRect().top;
    const beside = list.filter((s) => (dx > 0 ? s.column > here.column : s.column < here.column));
    if (!beside.length) {
      if (!this.has(this.page + dx)) return;
      this.goTo(this.page + dx);
      const there = this.columns.on(this.page);
      if (there.length) this.select(there[dx > 0 ? 0 : there.length - 1].key);
      return;
    }
    const column = dx > 0 ? Math.min(...beside.map((s) => s.column)) : Math.max(...beside.map((s) => s.column));
    const near = beside
      .filter((s) => s.column === column)
      .sort(
        (a, b) =>
          Math.abs(a.node.getBoundingClientRect().top - top) - Math.abs(b.node.getBoundingClientRect().top - top),
      );
    this.select(near[0].key);
  }

  courses() {
    const names = [];
    for (const e of this.store.open()) for (const c of e.courses) if (!names.includes(c)) names.push(c);
    return names;
  }

  setFilter(name) {
    this.filter = name;
    this.page = 0;
    this.redraw();
  }
}

export function keyAt(node) {
  const card = node.closest && node.closest(".card");
  return card ? card.dataset.key : "";
}
