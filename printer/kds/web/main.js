// The page of one screen: puts together what the other modules do.

import { byId, setText } from "./dom.js";
import { clock, heard, now } from "./time.js";
import { Store, jobsOf } from "./store.js";
import { Live, post, request } from "./connection.js";
import { Sender, target } from "./send.js";
import { draw } from "./cards.js";
import { Columns } from "./columns.js";
import { Keys } from "./keys.js";
import { Panels } from "./panels.js";
import { Sound } from "./sound.js";
import { Awake } from "./wakelock.js";
import { Toasts } from "./toast.js";
import { View, keyAt } from "./view.js";

class App extends View {
  constructor({ setup, tag, beat, state }) {
    super();
    this.setup = setup;
    heard(beat);
    this.store = new Store(setup);
    this.store.load(state);
    this.known = this.store.allJobs();
    this.sound = new Sound();
    this.awake = new Awake();
    this.toasts = new Toasts();
    this.panels = new Panels(this);
    this.live = new Live({ setup, tag, store: this.store, on: this });
    this.sender = new Sender(this.live, setup.expo);
    this.board = byId("board");
    this.columns = new Columns(this.board, (entry) => draw(entry, { setup, filter: this.filter }));
    this.filter = "";
    this.page = 0;
    this.selected = "";
    this.fresh = new Map(); // by key, since when a ticket is new
    this.sure = { key: "", at: 0 }; // an order that is not ready was pressed once
    this.touched = performance.now();
    this.look();
  }

  start() {
    byId("allday").addEventListener("click", () => this.panels.show("allday"));
    byId("recall").addEventListener("click", () => this.panels.show("recall"));
    byId("course").addEventListener("click", () => this.panels.show("course"));
    byId("print").addEventListener("click", () => this.print());
    byId("settings").addEventListener("click", () => this.panels.show("settings"));
    byId("previous").addEventListener("click", () => this.turn(-1));
    byId("next").addEventListener("click", () => this.turn(1));
    this.board.addEventListener("click", (e) => this.click(e));
    this.board.addEventListener("focusin", (e) => this.select(keyAt(e.target), false));
    for (const type of ["pointerdown", "keydown"]) {
      document.addEventListener(
        type,
        () => {
          this.touched = performance.now();
          this.sound.wake().then(() => this.wakeButton());
        },
        true,
      );
    }
    if (this.sound.context) this.sound.context.onstatechange = () => this.wakeButton();
    new Keys(this.setup.keys, (action, e) => this.act(action, e));
    addEventListener("resize", () => this.refresh());
    if (document.fonts && document.fonts.ready) document.fonts.ready.then(() => this.redraw());
    setInterval(() => this.tick(), 1000);
    document.body.classList.remove("starting");
    this.refresh();
    this.wakeButton();
    this.live.start();
  }

  // ---- what the line to the server tells

  state(snapshot) {
    if (this.store.load(snapshot)) this.arrived();
  }

  change(event) {
    this.store.apply(event);
    this.arrived();
  }

  // arrived tells of tickets that were never on this board. One that was fetched back is not new;
  // one that joins an order at the pass is.
  arrived() {
    const fresh = this.store.open().filter((e) => jobsOf(e).some((j) => !this.known.has(j)));
    this.known = this.store.allJobs();
    if (fresh.length) {
      for (const e of fresh) this.fresh.set(e.key, performance.now());
      const voided = fresh.find((e) => e.void);
      this.sound.play(voided ? "void" : "new");
      const one = voided || fresh[fresh.length - 1];
      const text =
        fresh.length > 1
          ? fresh.length + " new tickets"
          : (voided ? "Void: " : "New ticket: ") + [one.head, one.who].filter(Boolean).join(", ");
      setText(byId(voided ? "shout" : "say"), text);
    }
    this.later();
  }

  up(still) {
    document.body.classList.remove("notlive", "polling");
    setText(byId("live"), "LIVE");
    byId("live").className = "is";
    if (!still) this.later();
  }

  trouble() {
    if (this.live.dead) return;
    setText(byId("live"), "connecting");
    byId("live").className = "";
  }

  down(since) {
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

  polled(ok) {
    document.body.classList.toggle("polling", ok);
    setText(
      byId("cover").querySelector(".why"),
      ok
        ? "ticketrail answers, but changes do not come by themselves: they are asked for every few seconds."
        : "No connection to ticketrail. What you see may be old: look at the printer, call for help.",
    );
  }

  // ---- what a cook does

  click(event) {
    const key = keyAt(event.target);
    const entry = key && this.store.get(key);
    if (!entry) return;
    // The card under the finger changed a moment ago: the press was meant for the one before.
    if (event.detail && this.columns.settling(key)) return;
    this.lastItem = null;
    this.select(key, false);
    const item = event.target.closest("button.item");
    if (item) {
      this.lastItem = { key, item: item.dataset.item };
      return this.item(entry, Number(item.dataset.job), Number(item.dataset.item));
    }
    if (event.target.closest(".act")) return this.press(entry);
  }

  // press is the button at the foot of a card.
  press(entry) {
    if (this.sender.busy(entry.key, entry.version)) return; // pressed twice
    if (entry.mustAck) return this.send("ack_void", entry, target(entry, false));
    const card = this.columns.cards.get(entry.key);
    if (card && card.hidden) return this.some(entry, card);
    if (this.setup.expo && !entry.ready && this.sure.key !== entry.key) {
      this.sure = { key: entry.key, at: performance.now() };
      return this.marks();
    }
    this.sure.key = "";
    this.send("bump", entry, target(entry, this.setup.expo));
  }

  // some takes off what a course filter shows of a card. The rest stays: nobody has seen it.
  async some(entry, card) {
    if (this.setup.expo) return this.toasts.tell("The pass sends out whole orders: show everything first.");
    let version = entry.version;
    for (const it of card.items.filter((it) => !it.done && !it.void)) {
      const r = await this.send("item_done", entry, { job: it.job, version, item: it.i });
      if (!r || (r.outcome !== "done" && r.outcome !== "already")) return;
      if (r.card) version = r.card.version;
    }
    if (!card.hiddenUndone) this.toasts.tell(entry.head + ": everything is done. Show everything to bump it.");
  }

  item(entry, job, i) {
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
    const pressed = this.sender.send(verb, entry.key, body, (text) => this.toasts.tell(text));
    this.marks();
    const result = await pressed;
    this.marks();
    if (this.live.dead) this.live.poll(); // the stream would have told
    this.answered(verb, entry, result);
    return result;
  }

  answered(verb, entry, result) {
    const name = entry.head;
    const told = {
      conflict: name + " has changed meanwhile: look at it again.",
      unread: name + " has a VOID: say first that you have seen it.",
      too_late: name + ": too late to undo. Use Recall.",
      gone: name + " is not here any more.",
      refused: "Not possible: " + (result.text || ""),
    }[result.outcome];
    if (told) this.toasts.tell(told, "bad");
    if (result.outcome !== "done") return;
    if (verb === "recall" || verb === "undo")
      this.toasts.tell(name + (verb === "undo" ? ": taken back" : " is back in its place"));
    if (verb === "recall") this.panels.close();
    if (verb === "recall" || verb === "undo") {
      const page = this.columns.pageOf(entry.key);
      if (page >= 0) [this.page, this.selected] = [page, entry.key];
      else this.follow = entry.key; // it is not back yet
      this.later();
    }
    if (verb === "bump" || verb === "ack_void") this.offer(verb, entry, result);
    if (verb === "item_done" || verb === "item_undone") this.lastDone = { entry, result };
  }

  offer(verb, entry, result) {
    const until = result.card ? result.card.undo_until : now() + 10000;
    this.lastDone = null;
    this.toasts.undo(
      entry.head + (verb === "bump" ? (this.setup.expo ? " sent out" : " bumped") : ": VOID seen"),
      () => until - now(),
      () => this.takeBack(entry, result),
    );
    setText(byId("say"), entry.head + (verb === "bump" ? " bumped" : ": void seen"));
  }

  takeBack(entry, result) {
    if (result.card) return this.send("undo", entry, { job: result.card.job, version: result.card.version });
    // A bumped order has another key.
    const bumped = this.store.recall(now()).find((e) => String(jobsOf(e)) === String(jobsOf(entry)));
    if (bumped) return this.send("undo", bumped, target(bumped, true));
  }

  undo() {
    if (this.toasts.offer) return this.toasts.offer.take();
    const last = this.lastDone;
    this.lastDone = null;
    if (last && last.result.card && last.result.card.undo_until > now()) return this.takeBack(last.entry, last.result);
    this.toasts.tell("Nothing to undo.");
  }

  async print() {
    const entry = this.store.get(this.selected);
    if (!this.setup.print || !entry || this.setup.expo) return;
    const got = await request(this.live.base + "/print", post({ job: entry.thing.job }), 8000).catch(() => null);
    const why = got && got.status === 409 ? ": " + (await got.text()).trim() : " could not be printed";
    this.toasts.tell(entry.head + (got && got.ok ? " goes to the printer" : why), got && got.ok ? "" : "bad");
  }

  // act does what a key asks. False leaves the key to the browser.
  act(action, event) {
    if (action === "close") {
      if (this.panels.open) return this.panels.close();
      this.selected = "";
      if (document.activeElement) document.activeElement.blur();
      return this.marks();
    }
    if (this.panels.open) return this.actInPanel(action);
    if (document.body.classList.contains("notlive") && !document.body.classList.contains("polling")) return;
    const inBar = event.target.closest && event.target.closest("#bar, #toasts, button.item, .foot button, #wake");
    if (action === "bump" && inBar) return false;
    const m = /^select_(\d+)$/.exec(action);
    if (m) {
      const spot = this.columns.on(this.page)[Number(m[1]) - 1];
      this.lastItem = null;
      if (document.activeElement) document.activeElement.blur();
      return spot && this.select(spot.key);
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
      page_next: () => this.turn(1),
      page_previous: () => this.turn(-1),
      first: () => this.edge(true),
      last: () => this.edge(false),
    }[action];
    does();
  }

  // actInPanel lets the arrows walk through a list and the key that opened a panel close it.
  actInPanel(action) {
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
    if (entry && entry.thing.state === "open") return this.press(entry);
    // Nobody bumps what nobody chose: the first press chooses the oldest.
    const first = this.columns.on(this.page)[0];
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
    this.toasts.tell("Nothing to recall.");
  }

  edge(first) {
    this.goTo(first ? 0 : this.columns.pages - 1);
    const on = this.columns.on(this.page);
    if (on.length) this.select(on[first ? 0 : on.length - 1].key);
  }
}

const app = new App(JSON.parse(byId("start").textContent));
app.start();
