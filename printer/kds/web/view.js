// The visible state: which page of the board is shown, which card is selected, how old each one is.
// Nothing here sends anything to the server.

import { byId, el, removeChildren, setting, setText } from "./dom.js";
import { age, clock, now } from "./time.js";

const NEW_FOR = 20000; // milliseconds for which a ticket is marked NEW, unless it is touched
// How many tickets are rendered, the oldest first, and how many more when a cook turns the page
// beyond them. A kitchen has fewer open, but a board that was left alone for a week has more, and the
// page must stay fast.
const CARDS_AT_ONCE = 300;
const BACK_TO_FIRST = 60000; // after so many milliseconds without a touch, back to page 1

export class View {
  // ---- rendering

  scheduleRefresh() {
    if (this.waiting) return;
    this.waiting = true;
    // A browser in the background gives no animation frames; the timer keeps the page right all the
    // same.
    const refresh = () => {
      if (!this.waiting) return;
      this.waiting = false;
      this.refresh();
      this.connection.confirm();
    };
    requestAnimationFrame(refresh);
    setTimeout(refresh, 200);
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
    this.columns.layout(this.entries.slice(0, this.cardLimit || CARDS_AT_ONCE), () => this.filter);
    if (this.focusWhenBack && this.columns.pageOf(this.focusWhenBack) >= 0) {
      this.page = this.columns.pageOf(this.focusWhenBack);
      this.selected = this.focusWhenBack;
      this.focusWhenBack = "";
    }
    this.page = Math.max(0, Math.min(this.page, this.columns.pages - 1));
    if (this.selected && !this.entries.some((e) => e.key === this.selected)) this.selected = "";
    this.columns.show(this.page);
    this.updateBar(open);
    this.updateCards();
    this.tick();
    this.panels.changed();
    if (this.selected && !this.panels.open) this.focusSelected();
  }

  // updateBar shows the counts, the page number, and alerts.
  updateBar(open) {
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
    setText(byId("pagenumber"), this.page + 1 + " / " + this.columns.pages + (this.hasMore() ? "+" : ""));
    byId("previous").disabled = this.page === 0;
    byId("next").disabled = !this.hasPage(this.page + 1);
    this.alerts();
  }

  // alerts offers buttons to what a cook must see and what is on another page.
  alerts() {
    const box = byId("alerts");
    const off = (f) => this.entries.filter((e) => f(e) && this.columns.pageOf(e.key) !== this.page);
    const voided = off((e) => e.mustAck),
      fresh = off((e) => this.isNew(e.key));
    const page = (e) => (this.columns.cards.has(e.key) ? this.columns.pageOf(e.key) : this.columns.pages);
    const want = [];
    if (voided.length) want.push(["void", "VOID on page " + (page(voided[0]) + 1), page(voided[0])]);
    if (fresh.length) want.push(["new", fresh.length + " new on page " + (page(fresh[0]) + 1), page(fresh[0])]);
    const signature = JSON.stringify(want);
    if (box.dataset.signature === signature) return;
    box.dataset.signature = signature;
    removeChildren(box);
    for (const [kind, text, page] of want)
      box.append(el("button", { type: "button", class: kind, text, on: { click: () => this.goTo(page) } }));
  }

  // updateCards updates what changes about a card without rendering it anew: age, selection, new,
  // pending. None of it may change the card's height.
  updateCards() {
    const on = this.columns.cardsOn(this.page);
    byId("print").hidden = !this.selected || !this.setup.print || this.setup.expo;
    on.forEach((placed, i) => {
      const card = this.columns.cards.get(placed.key);
      const e = card.entry;
      const ageMs = now() - e.since;
      const level = ageMs >= this.setup.late_after ? "late" : ageMs >= this.setup.warn_after ? "due" : "";
      const fresh = this.isNew(placed.key);
      for (const node of card.segments) {
        const c = node.classList;
        c.toggle("late", level === "late");
        c.toggle("due", level === "due");
        c.toggle("new", fresh);
        c.toggle("void", e.void);
        c.toggle("acked", e.void && !e.mustAck);
        c.toggle("selected", placed.key === this.selected);
        c.toggle("busy", this.sender.isPending(placed.key));
      }
      setText(card.word, level === "late" ? "LATE" : level === "due" ? "DUE" : fresh ? "NEW" : "");
      setText(card.time, age(ageMs));
      setText(card.head.querySelector(".hint"), i < 10 ? String((i + 1) % 10) : "");
      const b = card.foot.firstChild;
      if (this.setup.expo && !e.ready)
        setText(b, this.unready.key === placed.key ? "Not ready: press again to bump" : "Not ready");
    });
  }

  isNew(key) {
    const since = this.newSince.get(key);
    if (since === undefined) return false;
    if (performance.now() - since < NEW_FOR) return true;
    this.newSince.delete(key);
    return false;
  }

  tick() {
    setText(byId("clock"), clock(now()));
    const oldest = this.entries.reduce((least, e) => (least && least < e.since ? least : e.since), 0);
    setText(byId("oldest"), oldest ? " · oldest " + age(now() - oldest) : "");
    if (this.unready.key && performance.now() - this.unready.at > 4000) this.unready.key = "";
    this.updateCards();
    this.alerts();
    if (this.page > 0 && performance.now() - this.lastTouch > BACK_TO_FIRST && !this.panels.open) this.goTo(0);
  }

  applySettings() {
    const root = document.documentElement;
    root.dataset.theme = setting.get("theme", "auto");
    root.dataset.size = setting.get("size", "m");
    if (this.entries) this.redraw();
  }

  updateSoundButton() {
    byId("enablesound").hidden = !this.sound.needsTouch();
  }

  // ---- pages and selection

  turnPage(by) {
    this.goTo(this.page + by);
  }

  // hasMore reports whether there are tickets that are not rendered; hasPage whether there is such
  // a page.
  hasMore() {
    return this.entries.length > (this.cardLimit || CARDS_AT_ONCE);
  }

  hasPage(page) {
    return page >= 0 && (page < this.columns.pages || this.hasMore());
  }

  goTo(page) {
    if (page >= this.columns.pages && this.hasMore())
      this.cardLimit = (this.cardLimit || CARDS_AT_ONCE) + CARDS_AT_ONCE;
    else if (page === 0) this.cardLimit = CARDS_AT_ONCE;
    this.page = page;
    this.selected = "";
    this.refresh();
  }

  select(key, focus = true) {
    if (!key) return;
    if (this.selected !== key) {
      this.selected = key;
      this.newSince.delete(key);
      this.updateCards();
    }
    if (focus) this.focusSelected();
  }

  focusSelected() {
    const placed = this.columns.cardsOn(this.page).find((s) => s.key === this.selected);
    if (!placed) return;
    const segments = this.columns.cards.get(this.selected).segments;
    if (segments.some((s) => s.contains(document.activeElement))) return;
    // If the card was rendered anew, the focus goes back to the item that had it.
    const again =
      this.lastItem &&
      this.lastItem.key === this.selected &&
      segments.map((s) => s.querySelector('button.item[data-item="' + this.lastItem.item + '"]')).find(Boolean);
    (again || placed.node).focus({ preventScroll: true });
  }

  move(dx, dy) {
    const list = this.columns.cardsOn(this.page);
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
      if (!this.hasPage(this.page + dx)) return;
      this.goTo(this.page + dx);
      const there = this.columns.cardsOn(this.page);
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

export function keyOfNode(node) {
  const card = node.closest && node.closest(".card");
  return card ? card.dataset.key : "";
}
