// The page of one screen: connects the other modules, and does what a cook presses.

import { byId, setText, setting } from "./dom.js";
import { clock, setServerTime, now } from "./time.js";
import { Store, jobsOf, nameOf, tableName } from "./store.js";
import { Connection, post, request } from "./connection.js";
import { Board } from "./board.js";
import { Bar } from "./bar.js";
import { Keys, runAction } from "./keys.js";
import { Panels } from "./panels.js";
import { Sound } from "./sound.js";
import { WakeLock } from "./wakelock.js";
import { start, word } from "./words.js";

class App {
  constructor({ setup, tag, beat, state }) {
    this.setup = setup;
    setServerTime(beat);
    this.store = new Store(setup);
    this.store.load(state);
    this.knownJobs = this.store.allJobs();
    this.touchedAt = -Infinity;
    this.sound = new Sound();
    this.wakeLock = new WakeLock();
    this.connection = new Connection({ setup, tag, store: this.store, handler: this });
    this.bar = new Bar(this);
    this.board = new Board(this);
    this.panels = new Panels(this);
    this.keys = new Keys(setup.keys, (action, e) => runAction(this, action, e));
  }

  start() {
    const press = (id, f) => byId(id).addEventListener("click", f);
    for (const name of ["allday", "recall", "course", "settings"]) press(name, () => this.panels.show(name));
    press("previous", () => this.board.goTo(this.board.page - 1));
    press("next", () => this.board.goTo(this.board.page + 1));
    press("back", () => this.board.open(""));
    this.board.node.addEventListener("click", (e) => this.click(e));
    this.board.node.addEventListener("focusin", (e) => this.board.select(keyOfNode(e.target), false));
    this.swipes();
    for (const type of ["pointerdown", "keydown"])
      document.addEventListener(
        type,
        () => {
          this.touchedAt = performance.now();
          this.sound.unlock().then(() => this.updateSoundButton());
        },
        true,
      );
    if (this.sound.context) this.sound.context.onstatechange = () => this.updateSoundButton();
    // The board also has another size if the bar needs another line.
    new ResizeObserver(() => this.refresh()).observe(this.board.node);
    if (document.fonts && document.fonts.ready) document.fonts.ready.then(() => this.redraw());
    setInterval(() => this.tick(), 1000);
    document.body.classList.toggle("pass", this.setup.pass);
    document.body.classList.remove("starting");
    this.applySettings();
    this.updateSoundButton();
    this.connection.start();
    // Where the browser allows it, a page that cannot be loaded is tried again instead of the error page.
    const texts = new URLSearchParams(["lang", "not_live", "unreachable", "call_for_help"].map((k) => [k, word(k)]));
    if (navigator.serviceWorker && isSecureContext)
      navigator.serviceWorker
        .register(this.connection.web + "offline.js?" + texts, { scope: this.connection.base })
        .catch(() => {});
  }

  // swipes turns pages with a finger.
  swipes() {
    let from = null;
    const board = this.board.node;
    board.addEventListener("touchstart", (e) => {
      from = e.touches.length === 1 ? e.touches[0] : null;
    }, { passive: true });
    board.addEventListener("touchend", (e) => {
      const to = e.changedTouches[0];
      const [dx, dy] = from ? [to.clientX - from.clientX, to.clientY - from.clientY] : [0, 0];
      from = null;
      const page = this.board.page + (dx < 0 ? 1 : -1);
      if (Math.abs(dx) > 60 && Math.abs(dx) > 2 * Math.abs(dy) && this.board.hasPage(page)) this.board.goTo(page);
    }, { passive: true });
  }

  // ---- drawing

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

  refresh() {
    this.board.refresh();
    this.bar.update();
    this.panels.changed();
    if (this.board.selected && !this.panels.open) this.board.focusSelected();
  }

  redraw() {
    this.board.columns.forget();
    this.refresh();
  }

  tick() {
    const { board } = this;
    if (board.unready.key && performance.now() - board.unready.at > 4000) board.unready.key = "";
    board.fire();
    board.update();
    this.bar.update();
    if (board.wantsToGrow()) this.refresh();
    const isForgotten = performance.now() - this.touchedAt > 60000;
    if (!isForgotten || this.panels.open) return;
    if (this.setup.pass && board.opened) board.open("");
    else if (board.page > 0) board.goTo(0);
  }

  applySettings() {
    document.documentElement.dataset.theme = setting.get("theme", "auto");
    document.body.dataset.allday = setting.get("allday", "panel");
    this.redraw();
    this.turned();
  }

  updateSoundButton() {
    byId("enablesound").hidden = !this.sound.needsTouch();
  }

  // ---- called by Connection and Board

  onState(snapshot) {
    if (this.store.load(snapshot)) this.changed();
  }

  onChange(event) {
    this.store.apply(event);
    this.changed();
  }

  // changed announces orders with tickets that were never on this board. A recalled one is not new.
  changed() {
    const isFresh = (o) => jobsOf(o).some((j) => !this.knownJobs.has(j));
    const fresh = this.store.open().filter(isFresh);
    const newBand = (o, isChange) =>
      (o.voids || []).some((v) => !this.knownJobs.has(v.job) && !!v.changed === isChange);
    const voided = fresh.find((o) => newBand(o, false));
    const replaced = fresh.find((o) => newBand(o, true));
    for (const o of fresh) this.board.newSince.set(o.key, 0);
    this.knownJobs = this.store.allJobs();
    if (fresh.length) {
      const one = voided || replaced || fresh[fresh.length - 1];
      const order = [one.number, tableName(one)].filter(Boolean).join(", ");
      const news = voided ? "new_void" : replaced ? "new_change" : "new_order";
      const what = fresh.length > 1 ? "new_orders" : news;
      const live = byId(voided || replaced ? "announce-now" : "announce");
      setText(live, word(what, { order, n: fresh.length }));
    }
    this.scheduleRefresh();
  }

  // turned is called when other orders can be seen than before.
  turned() {
    this.bar.update();
    this.connection.confirm();
  }

  heldJobs() {
    // Without cards on it, this page must not make a ticket "shown".
    return this.board.isHidden ? [] : this.store.jobs();
  }

  visibleJobs() {
    return this.board.visibleJobs();
  }

  onLive(wasLive) {
    document.body.classList.remove("notlive", "usable");
    this.setLive("live", "is");
    if (!wasLive) this.scheduleRefresh();
  }

  onConnecting() {
    this.setLive("connecting", "");
  }

  setLive(key, look) {
    setText(byId("live"), word(key));
    byId("live").className = look;
  }

  // onNotLive: onlyDeaf says that orders arrive here, and the server does not take this page's answers.
  onNotLive(since, onlyDeaf) {
    this.onlyDeaf = onlyDeaf;
    document.body.classList.add("notlive");
    this.setLive("not_live", "not");
    setText(byId("cover").querySelector(".big"), word("not_live_since", { time: clock(since) }));
    this.onPolled(false);
  }

  // onPolled: ok says that the orders were loaded. If they were, or arrive and only the server is deaf, the board is
  // usable: the cover lets presses through.
  onPolled(ok) {
    document.body.classList.toggle("usable", ok || this.onlyDeaf);
    const why = this.onlyDeaf ? "deaf" : ok ? "polling" : "silent";
    setText(byId("cover").querySelector(".why"), word(why));
  }

  // ---- what a cook presses

  click(event) {
    const key = keyOfNode(event.target);
    const order = key && this.store.get(key);
    if (!order) return;
    // What is under the finger changed a moment ago: the press may have been meant for another order.
    if (event.detail && this.board.movedRecently(key)) return;
    this.board.lastItem = null;
    this.board.select(key, false);
    const on = (selector) => event.target.closest(selector);
    if (on("button.item")) return this.toggle(order, on("button.item"));
    if (on("button.tick")) return this.tickPart(order, on("button.tick").dataset.part);
    if (on(".act")) return this.press(order);
    if (this.board.isList) return this.board.open(key);
    if (on(".head")) return this.panels.show("details");
  }

  // press is the button at the foot of a card, or the bump key.
  press(order) {
    const { board } = this;
    if (this.connection.isPending(order.key, order.version)) return; // pressed twice
    // What is on the next page must be seen before it is bumped.
    const last = board.columns.lastPageOf(order.key);
    if (last > board.page) {
      board.goTo(last);
      return board.select(order.key);
    }
    if (order.must_ack_void) return this.send("ack_void", order);
    if (order.must_ack_alarm) return this.send("ack_alarm", order);
    const card = board.columns.cards.get(order.key);
    if (card && card.hidden) return this.finishFiltered(order, card);
    if (this.setup.pass && !order.ready && !order.cancelled && board.unready.key !== order.key) {
      board.unready = { key: order.key, at: performance.now() };
      return board.update();
    }
    board.unready.key = "";
    return this.send("bump", order);
  }

  // finishFiltered marks the items done that a course filter shows. It does not bump the card: no cook has
  // seen the rest of it.
  async finishFiltered(order, card) {
    if (this.setup.pass) return this.bar.say(word("show_all_first"));
    const rest = card.hiddenUndone;
    if (!(await this.items(order, card.targets.filter((t) => !t.done), "item_done"))) return;
    if (!rest) this.bar.say(word("items_done", { order: nameOf(order) }));
  }

  async toggle(order, button) {
    const isDone = button.getAttribute("aria-pressed") === "true";
    const job = Number(button.dataset.job);
    const targets = button.dataset.items.split(" ").map((i) => ({ job, i: Number(i) }));
    this.board.lastItem = { key: order.key, items: button.dataset.items };
    const order2 = await this.items(order, targets, isDone ? "item_undone" : "item_done");
    if (!order2) return;
    const undo = () => this.items(order2, targets, isDone ? "item_done" : "item_undone");
    this.bar.offerUndo(nameOf(order), now() + this.setup.undo_for, undo);
  }

  // items marks items one after the other, and returns the order as it is then; undefined if one was refused.
  async items(order, targets, verb) {
    for (const { job, i } of targets) {
      const ticket = (order.tickets || []).find((t) => t.job === job);
      if (!ticket) return;
      const result = await this.send(verb, order, { job, version: ticket.version, item: i });
      if (result.outcome !== "done" && result.outcome !== "already") return;
      order = result.order || order;
    }
    return order;
  }

  tickPart(order, station) {
    const part = order.parts.find((p) => p.station === station);
    return part && this.send(part.ticked_at ? "untick" : "tick", order, { part: station });
  }

  async send(verb, order, body) {
    this.bar.offer = null; // Undo is for the latest change
    const touchedAt = this.touchedAt;
    const pressed = this.connection.send(verb, order, body, (text) => this.bar.say(text));
    this.board.update();
    const result = await pressed;
    this.board.update();
    if (this.connection.notLive) this.connection.poll(); // there is no stream that would tell
    this.answered(verb, order, result, touchedAt === this.touchedAt);
    return result;
  }

  // answered: isLatestTouch says that the cook has touched nothing since.
  answered(verb, order, result, isLatestTouch) {
    const name = nameOf(order);
    if (["conflict", "unread", "too_late", "gone", "refused"].includes(result.outcome))
      this.bar.say(word(result.outcome, { order: name, why: result.text || "" }), "bad");
    if (result.outcome !== "done") {
      this.bar.undoNext = false;
      return;
    }
    const bumped = order.cancelled ? "was_put_away" : this.setup.pass ? "was_sent_out" : "was_bumped";
    const done = verb === "bump" ? bumped : /^(ack_|undo|recall)/.test(verb) && "was_" + verb;
    if (done) setText(byId("announce"), word(done, { order: name }));
    if (verb === "undo" || verb === "recall") this.bar.say(word(done, { order: name }));
    if (isLatestTouch && (verb === "undo" || verb === "recall")) {
      const key = (result.order && result.order.key) || order.key.split("~")[0];
      this.panels.close();
      this.board.goWhenThere = key;
      this.scheduleRefresh();
    }
    if ((verb === "bump" || verb.startsWith("ack_")) && result.order)
      this.bar.offerUndo(name, result.order.undo_until, () => this.send("undo", result.order));
  }

  // print prints the open tickets of an order on paper.
  async print(order) {
    if (!this.setup.print || !order) return;
    for (const t of (order.tickets || []).filter((t) => t.state === "open")) {
      const got = await request(this.connection.base + "/print", post({ job: t.job }), 8000).catch(() => null);
      if (got && got.ok) continue;
      const why = got && got.status === 409 ? "in_progress" : "not_printed";
      return this.bar.say(word(why, { order: nameOf(order) }), "bad");
    }
    this.bar.say(word("is_printed", { order: nameOf(order) }));
  }

  async reload() {
    if (!(await this.connection.reload())) this.bar.say(word("not_loaded"), "bad");
  }
}

function keyOfNode(node) {
  const card = node.closest && node.closest(".card");
  return card ? card.dataset.key : "";
}

new App(start).start();
