// The page of one screen: connects the other modules, and does what a cook presses.

import { byId, setText } from "./dom.js";
import { clock, setServerTime, now } from "./time.js";
import { Store, jobsOf } from "./store.js";
import { Connection, post, request } from "./connection.js";
import { CommandSender, target } from "./send.js";
import { renderCard } from "./cards.js";
import { Columns } from "./columns.js";
import { Keys } from "./keys.js";
import { Panels } from "./panels.js";
import { Sound } from "./sound.js";
import { WakeLock } from "./wakelock.js";
import { Toasts } from "./toast.js";
import { View, keyOfNode } from "./view.js";

class App extends View {
  constructor({ setup, tag, beat, state }) {
    super();
    this.setup = setup;
    setServerTime(beat);
    this.store = new Store(setup);
    this.store.load(state);
    this.knownJobs = this.store.allJobs();
    this.sound = new Sound();
    this.wakeLock = new WakeLock();
    this.toasts = new Toasts();
    this.panels = new Panels(this);
    this.connection = new Connection({ setup, tag, store: this.store, handler: this });
    this.sender = new CommandSender(this.connection, setup.expo);
    this.board = byId("board");
    this.columns = new Columns(this.board, (entry) => renderCard(entry, { setup, filter: this.filter }));
    this.filter = "";
    this.page = 0;
    this.selected = "";
    this.newSince = new Map(); // by key: since when a ticket is new
    this.unready = { key: "", at: 0 }; // an order that is not ready and was pressed once: a second press bumps it
    this.lastTouch = performance.now();
    this.applySettings();
  }

  start() {
    byId("allday").addEventListener("click", () => this.panels.show("allday"));
    byId("recall").addEventListener("click", () => this.panels.show("recall"));
    byId("course").addEventListener("click", () => this.panels.show("course"));
    byId("print").addEventListener("click", () => this.print());
    byId("settings").addEventListener("click", () => this.panels.show("settings"));
    byId("previous").addEventListener("click", () => this.turnPage(-1));
    byId("next").addEventListener("click", () => this.turnPage(1));
    this.board.addEventListener("click", (e) => this.click(e));
    this.board.addEventListener("focusin", (e) => this.select(keyOfNode(e.target), false));
    for (const type of ["pointerdown", "keydown"]) {
      document.addEventListener(
        type,
        () => {
          this.lastTouch = performance.now();
          this.sound.unlock().then(() => this.updateSoundButton());
        },
        true,
      );
    }
    if (this.sound.context) this.sound.context.onstatechange = () => this.updateSoundButton();
    new Keys(this.setup.keys, (action, e) => this.runAction(action, e));
    addEventListener("resize", () => this.refresh());
    if (document.fonts && document.fonts.ready) document.fonts.ready.then(() => this.redraw());
    setInterval(() => this.tick(), 1000);
    document.body.classList.remove("starting");
    this.refresh();
    this.updateSoundButton();
    this.connection.start();
  }

  // ---- called by Connection

  onState(snapshot) {
    if (this.store.load(snapshot)) this.boardChanged();
  }

  onChange(event) {
    this.store.apply(event);
    this.boardChanged();
  }

  // boardChanged announces tickets that were never on this board. A recalled ticket is not new; one
  // that joins an order at the expo is.
  boardChanged() {
    const fresh = this.store.open().filter((e) => jobsOf(e).some((j) => !this.knownJobs.has(j)));
    this.knownJobs = this.store.allJobs();
    if (fresh.length) {
      for (const e of fresh) this.newSince.set(e.key, performance.now());
      const voided = fresh.find((e) => e.void);
      this.sound.play(voided ? "void" : "new");
      const one = voided || fresh[fresh.length - 1];
      const text =
        fresh.length > 1
          ? fresh.length + " new tickets"
          : (voided ? "Void: " : "New ticket: ") + [one.head, one.who].filter(Boolean).join(", ");
      setText(byId(voided ? "announce-now" : "announce"), text);
    }
    this.scheduleRefresh();
  }

  onLive(wasLive) {
    document.body.classList.remove("notlive", "polling");
    setText(byId("live"), "LIVE");
    byId("live").className = "is";
    if (!wasLive) this.scheduleRefresh();
  }

  onConnecting() {
    if (this.connection.notLive) return;
    setText(byId("live"), "connecting");
    byId("live").className = "";
  }

  onNotLive(since) {
    document.body.classList.add("notlive");
    const text = "NOT LIVE since " + clock(since);
    setText(byId("live"), "NOT LIVE");
    byId("live").className = "not";
    setText(byId("cover").querySelector(".big"), text);
    setText(
      byId("cover").querySelector(".why"),
      "No connection to ticketrail. What you see may be old: look at the printer, call for help.",
    );
    document.documentElement.dataset.notlive = text;
  }

  onPolled(ok) {
    document.body.classList.toggle("polling", ok);
    setText(
      byId("cover").querySelector(".why"),
      ok
        ? "ticketrail answers, but changes do not come by themselves: they are asked for every few seconds."
        : "No connection to ticketrail. What you see may be old: look at the printer, call for help.",
    );
  }

  // ---- what a cook presses

  click(event) {
    const key = keyOfNode(event.target);
    const entry = key && this.store.get(key);
    if (!entry) return;
    // The card under the finger changed a moment ago: the press may have been meant for another one.
    if (event.detail && this.columns.movedRecently(key)) return;
    this.lastItem = null;
    this.select(key, false);
    const item = event.target.closest("button.item");
    if (item) {
      this.lastItem = { key, item: item.dataset.item };
      return this.toggleItem(entry, Number(item.dataset.job), Number(item.dataset.item));
    }
    if (event.target.closest(".act")) return this.press(entry);
  }

  // press is the button at the foot of a card, or the bump key.
  press(entry) {
    if (this.sender.isPending(entry.key, entry.version)) return; // pressed twice
    if (entry.mustAck) return this.send("ack_void", entry, target(entry, false));
    const card = this.columns.cards.get(entry.key);
    if (card && card.hidden) return this.finishFiltered(entry, card);
    if (this.setup.expo && !entry.ready && this.unready.key !== entry.key) {
      this.unready = { key: entry.key, at: performance.now() };
      return this.updateCards();
    }
    this.unready.key = "";
    this.send("bump", entry, target(entry, this.setup.expo));
  }

  // finishFiltered marks the items done that a course filter shows. It does not bump the card:
  // nobody has seen the rest of it.
  async finishFiltered(entry, card) {
    if (this.setup.expo) return this.toasts.show("An expo screen bumps whole orders: show all courses first.");
    let version = entry.version;
    for (const it of card.items.filter((it) => !it.done && !it.void)) {
      const r = await this.send("item_done", entry, { job: it.job, version, item: it.i });
      if (!r || (r.outcome !== "done" && r.outcome !== "already")) return;
      if (r.card) version = r.card.version;
    }
    if (!card.hiddenUndone) this.toasts.show(entry.head + ": all items are done. Show all courses to bump it.");
  }

  toggleItem(entry, job, i) {
    let found = null,
      version = entry.version;
    for (const g of entry.groups)
      for (const c of g.cards)
        if (c.job === job) {
          found = (c.items || [])[i];
          version = c.version;
        }
    if (found) this.send(found.done ? "item_undone" : "item_done", entry, { job, version, item: i });
  }

  recall(entry) {
    return this.send("recall", entry, target(entry, this.setup.expo));
  }

  async send(verb, entry, body) {
    const pressed = this.sender.send(verb, entry.key, body, (text) => this.toasts.show(text));
    this.updateCards();
    const result = await pressed;
    this.updateCards();
    if (this.connection.notLive) this.connection.poll(); // there is no stream that would tell
    this.answered(verb, entry, result);
    return result;
  }

  answered(verb, entry, result) {
    const name = entry.head;
    const message = {
      conflict: name + " has changed: look at it again.",
      unread: name + " has a VOID: acknowledge it first.",
      too_late: name + ": too late to undo. Use Recall.",
      gone: name + " is no longer on the board.",
      refused: "Not possible: " + (result.text || ""),
    }[result.outcome];
    if (message) this.toasts.show(told, "bad");
    if (result.outcome !== "done") return;
    if (verb === "recall" || verb === "undo")
      this.toasts.show(name + (verb === "undo" ? ": undone" : " is back in its place"));
    if (verb === "recall") this.panels.close();
    if (verb === "recall" || verb === "undo") {
      const page = this.columns.pageOf(entry.key);
      if (page >= 0) [this.page, this.selected] = [page, entry.key];
      else this.focusWhenBack = entry.key; // it is not back on the board yet
      this.scheduleRefresh();
    }
    if (verb === "bump" || verb === "ack_void") this.offerUndo(verb, entry, result);
    if (verb === "item_done" || verb === "item_undone") this.lastDone = { entry, result };
  }

  offerUndo(verb, entry, result) {
    const until = result.card ? result.card.undo_until : now() + 10000;
    this.lastDone = null;
    this.toasts.undo(
      entry.head + (verb === "bump" ? " bumped" : ": VOID acknowledged"),
      () => until - now(),
      () => this.undoResult(entry, result),
    );
    setText(byId("announce"), entry.head + (verb === "bump" ? " bumped" : ": void acknowledged"));
  }

  undoResult(entry, result) {
    if (result.card) return this.send("undo", entry, { job: result.card.job, version: result.card.version });
    // A bumped order has another key than the open one.
    const bumped = this.store.recall(now()).find((e) => String(jobsOf(e)) === String(jobsOf(entry)));
    if (bumped) return this.send("undo", bumped, target(bumped, true));
  }

  undo() {
    if (this.toasts.offer) return this.toasts.offer.undo();
    const last = this.lastDone;
    this.lastDone = null;
    if (last && last.result.card && last.result.card.undo_until > now())
      return this.undoResult(last.entry, last.result);
    this.toasts.show("Nothing to undo.");
  }

  async print() {
    const entry = this.store.get(this.selected);
    if (!this.setup.print || !entry || this.setup.expo) return;
    const got = await request(this.connection.base + "/print", post({ job: entry.source.job }), 8000).catch(() => null);
    const why = got && got.status === 409 ? ": " + (await got.text()).trim() : " could not be printed";
    this.toasts.show(entry.head + (got && got.ok ? " is sent to the printer" : why), got && got.ok ? "" : "bad");
  }

  // runAction does what a key asks for. It returns false to leave the key to the browser.
  runAction(action, event) {
    if (action === "close") {
      if (this.panels.open) return this.panels.close();
      this.selected = "";
      if (document.activeElement) document.activeElement.blur();
      return this.updateCards();
    }
    if (this.panels.open) return this.runActionInPanel(action);
    if (document.body.classList.contains("notlive") && !document.body.classList.contains("polling")) return;
    const inBar =
      event.target.closest && event.target.closest("#bar, #toasts, button.item, .foot button, #enablesound");
    if (action === "bump" && inBar) return false;
    const m = /^select_(\d+)$/.exec(action);
    if (m) {
      const placed = this.columns.cardsOn(this.page)[Number(m[1]) - 1];
      this.lastItem = null;
      if (document.activeElement) document.activeElement.blur();
      return placed && this.select(placed.key);
    }
    const does = {
      bump: () => this.bumpSelected(),
      item: () => this.nextItem(),
      undo: () => this.undo(),
      print: () => this.print(),
      ack_void: () => this.ackSelected(),
      recall_last: () => this.recallLast(),
      recall_list: () => this.panels.show("recall"),
      all_day: () => this.panels.show("allday"),
      course: () => this.courses().length && this.panels.show("course"),
      settings: () => this.panels.show("settings"),
      help: () => this.panels.show("help"),
      left: () => this.move(-1, 0),
      right: () => this.move(1, 0),
      up: () => this.move(0, -1),
      down: () => this.move(0, 1),
      page_next: () => this.turnPage(1),
      page_previous: () => this.turnPage(-1),
      first: () => this.goToEnd(true),
      last: () => this.goToEnd(false),
    }[action];
    does();
  }

  // runActionInPanel lets the arrow keys walk through a list, and the key that opened a panel close
  // it.
  runActionInPanel(action) {
    const opens = { recall_list: "recall", all_day: "allday", course: "course", settings: "settings", help: "help" }[
      action
    ];
    if (opens) return this.panels.show(opens);
    const all = Array.from(this.panels.open.dialog.querySelectorAll("button.row"));
    const to = { up: -1, down: 1, page_previous: -6, page_next: 6, first: -Infinity, last: Infinity }[action];
    if (!to || !all.length) return false;
    all[Math.max(0, Math.min(all.length - 1, all.indexOf(document.activeElement) + to))].focus();
  }

  bumpSelected() {
    const entry = this.store.get(this.selected);
    if (entry && entry.source.state === "open") return this.press(entry);
    // With nothing selected, the first press only selects the oldest: it must not bump unseen.
    const first = this.columns.cardsOn(this.page)[0];
    if (first) this.select(first.key);
  }

  ackSelected() {
    const entry = this.store.get(this.selected);
    if (entry && entry.mustAck) this.press(entry);
  }

  nextItem() {
    if (!this.selected) this.bumpSelected();
    const card = this.columns.cards.get(this.selected);
    if (!card) return;
    const items = []
      .concat(...card.segments.map((s) => Array.from(s.querySelectorAll("button.item"))))
      .filter((b) => b.isConnected);
    if (!items.length) return;
    const next = items[(items.indexOf(document.activeElement) + 1) % items.length];
    this.lastItem = { key: this.selected, item: next.dataset.item };
    next.focus({ preventScroll: true });
  }

  recallLast() {
    const last = this.store.recall(now())[0];
    if (last) return this.recall(last);
    this.toasts.show("Nothing to recall.");
  }

  goToEnd(first) {
    this.goTo(first ? 0 : this.columns.pages - 1);
    const on = this.columns.cardsOn(this.page);
    if (on.length) this.select(on[first ? 0 : on.length - 1].key);
  }
}

const app = new App(JSON.parse(byId("start").textContent));
app.start();
