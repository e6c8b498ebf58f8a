// The page's copy of the server's state: the orders of a screen. Only the server's snapshots and events
// change it, never a press: what is shown is what is stored.

import { clock, now } from "./time.js";
import { word } from "./words.js";

export class Store {
  constructor(setup) {
    this.setup = setup;
    this.byKey = new Map(); // orders
    this.id = "";
    this.run = "";
    this.seq = 0;
  }

  // load takes a snapshot. It refuses one that is older than what the stream has told since: the
  // board must never go back.
  load(state) {
    if (state.run === this.run && state.seq < this.seq) return false;
    this.byKey.clear();
    for (const o of [...state.orders, ...state.recall]) this.byKey.set(o.key, o);
    [this.id, this.run, this.seq] = [state.id, state.run, state.seq];
    return true;
  }

  // apply takes one event. The server sends them in order.
  apply(event) {
    [this.id, this.seq] = [event.id, event.seq];
    if (event.kind === "order") this.byKey.set(event.order, event.view);
    else if (event.kind === "forget_order") this.byKey.delete(event.order);
  }

  get(key) {
    return this.byKey.get(key);
  }

  // open returns the orders on the board, sorted by place; at the pass the ready ones first, then the others, the
  // oldest first.
  open() {
    const by = this.setup.pass ? (o) => (o.ready ? 0 : 1e15) + sinceOf(o) : (o) => o.place;
    return this.all((o) => o.state === "open").sort((a, b) => by(a) - by(b) || (a.key < b.key ? -1 : 1));
  }

  // recall returns the orders that can be recalled, newest first.
  recall(now) {
    const list = this.all((o) => o.state !== "open" && now - o.departed_at < this.setup.recall_for);
    return list.sort((a, b) => b.departure - a.departure).slice(0, 50);
  }

  all(is) {
    return Array.from(this.byKey.values()).filter(is);
  }

  // jobs returns the job of every ticket on the board, on whichever page of it.
  jobs() {
    return [].concat(...this.open().map(jobsOf));
  }

  // allJobs returns the jobs of all tickets that the page knows, bumped ones too.
  allJobs() {
    return new Set([].concat(...Array.from(this.byKey.values(), jobsOf)));
  }
}

// jobsOf returns the jobs of an order. A void is one of its tickets.
export const jobsOf = (o) => (o.tickets || []).map((t) => t.job);

// sinceOf is when an order began to wait. One that is to be begun later counts from then.
export const sinceOf = (o) => Math.max(o.received, fireOf(o));

// fireOf is when an order is to be begun, the first of what is left of it, else of all: 0 at once, -1 when somebody
// says so.
export function fireOf(o) {
  const all = [].concat(...(o.tickets || []).map((t) => t.items || [])).filter((it) => !it.depth && !it.void);
  const left = all.filter((it) => !it.done);
  const fires = (left.length ? left : all).map((it) => it.fire || 0);
  if (!fires.length || fires.includes(0)) return 0;
  const times = fires.filter((f) => f > 0);
  return times.length ? Math.min(...times) : -1;
}

// isLater reports whether a time to begin has not come.
export const isLater = (fire) => fire < 0 || fire > now();

// fireText is when to begin, as a card says it.
export const fireText = (fire) => (fire < 0 ? word("hold") : word("fire", { time: clock(fire) }));

// short is a text of at most 40 letters; the details have the whole one.
export const short = (text) => (text.length > 40 ? text.slice(0, 39) + "…" : text);

// nameOf is what a cook calls an order, whatever the till left out.
export function nameOf(o) {
  const kind = { slip: word("expired"), test: word("test"), open_orders: word("open_orders") }[o.kind];
  return short(o.number || tableName(o) || kind || o.type || word("order"));
}

// tableName is a table as people say it. The server has put the word before a number.
export const tableName = (o) => (o.table || "").replace(/^Table /, word("table") + " ");

// courseName is a course as it is shown. In a list of open orders it has more parts, which name an order: see
// paperLines in board/dark.go.
export function courseName(course) {
  const parts = course.split(" · ");
  if (parts.length === 1) return course;
  const time = (part) => part.replace(/^Wanted (.*)/, (_, what) => word("wanted", { what }));
  return parts.map((part) => time(tableName({ table: part }))).join(" · ");
}

// waitingBand is "void" if a cancellation waits to be acknowledged, else "changed" if a ticket that replaces another
// one does, else "". At the pass it may be another station that has not acknowledged it.
export function waitingBand(o) {
  const waiting = (o.voids || []).filter((v) => !v.acked_at);
  return waiting.length ? (waiting.every((v) => v.changed) ? "changed" : "void") : "";
}

// tableOf is what stands beside the name: the table, unless the order is called by it.
export const tableOf = (o) => (o.number ? short((o.table || "").replace(/^table /i, "")) : "");
