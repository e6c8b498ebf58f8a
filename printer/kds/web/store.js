// What the server told: the cards of a board, or the orders of the pass. It is never changed by
// what a cook presses, only by what the server says became of that.

export class Store {
  constructor(setup) {
    this.setup = setup;
    this.things = new Map(); // by key: a card's job, an order's key
    this.entries = new WeakMap(); // what is drawn of each
    this.id = "";
    this.run = "";
    this.seq = 0;
  }

  // load takes a whole snapshot. One that is older than what the stream told since it was asked
  // for is none: the board never goes back.
  load(state) {
    if (state.run === this.run && state.seq < this.seq) return false;
    this.things.clear();
    for (const t of [...(state.open || state.orders), ...state.recall]) this.things.set(keyOf(t), t);
    [this.id, this.run, this.seq] = [state.id, state.run, state.seq];
    return true;
  }

  // apply takes one change.
  apply(event) {
    [this.id, this.seq] = [event.id, event.seq];
    if (event.kind === "card") this.things.set(keyOf(event.card), event.card);
    else if (event.kind === "order") this.things.set(keyOf(event.view), event.view);
    else if (event.kind === "forget") this.things.delete(String(event.job));
    else if (event.kind === "forget_order") this.things.delete(event.order);
  }

  // open is what is on the board, in place.
  open() {
    const list = [];
    for (const t of this.things.values()) if (t.state === "open") list.push(this.entry(t));
    return list.sort(this.setup.expo ? byAge : byPlace);
  }

  // recall is what can be fetched back, the latest first.
  recall(now) {
    const list = [];
    for (const t of this.things.values()) {
      if (t.state !== "open" && now - t.off_at < this.setup.recall_for) list.push(this.entry(t));
    }
    return list.sort((a, b) => b.thing.off - a.thing.off).slice(0, 50);
  }

  get(key) {
    const t = this.things.get(key);
    return t && this.entry(t);
  }

  // jobs is every card on the board, on whichever page.
  jobs() {
    return [].concat(...this.open().map(jobsOf));
  }

  // allJobs is every card that the page knows of, bumped ones too.
  allJobs() {
    const jobs = new Set();
    for (const t of this.things.values()) for (const j of jobsOf(this.entry(t))) jobs.add(j);
    return jobs;
  }

  entry(thing) {
    let e = this.entries.get(thing);
    if (!e) this.entries.set(thing, (e = this.setup.expo ? ofOrder(thing) : ofCard(thing)));
    return e;
  }
}

// jobsOf is the cards of an entry.
export const jobsOf = (e) => [].concat(...e.groups.map((g) => g.cards.map((c) => c.job)));

const keyOf = (t) => (t.key !== undefined ? t.key : String(t.job));
const byPlace = (a, b) => a.thing.place - b.thing.place || a.thing.job - b.thing.job;
const byAge = (a, b) => a.since - b.since || (a.key < b.key ? -1 : 1);

function ofCard(c) {
  return {
    key: keyOf(c),
    thing: c,
    version: c.version,
    since: c.received > 0 ? c.received : c.put_at,
    head: c.number || c.table || kindTitle(c.kind) || c.type || "Ticket",
    who: who(c),
    meta: [c.clock, c.station, c.course, c.destination, c.venue, c.request].filter(Boolean).join(" · "),
    groups: [{ cards: [c], mine: true }],
    courses: c.courses || [],
    mustAck: Boolean(c.must_ack),
    void: Boolean(c.void || c.must_ack),
    ready: true,
  };
}

function ofOrder(o) {
  const courses = [];
  let voided = false;
  for (const s of o.stations)
    for (const c of s.cards) {
      for (const name of c.courses || []) if (!courses.includes(name)) courses.push(name);
      voided = voided || Boolean(c.void || c.must_ack);
    }
  return {
    key: o.key,
    thing: o,
    version: o.version,
    since: o.received,
    head: o.number || o.table || o.type || "Order",
    who: who(o),
    meta: o.clock || "",
    groups: o.stations,
    courses,
    mustAck: false,
    void: voided,
    ready: o.ready,
  };
}

function kindTitle(kind) {
  return kind === "slip" ? "Expired" : kind === "test" ? "Test" : "";
}

function who(t) {
  const parts = [];
  if (t.number && t.table) parts.push(t.table);
  if (t.type) parts.push(t.type);
  if (t.server) parts.push(t.server);
  if (t.guests) parts.push(t.guests === "1" ? "1 guest" : t.guests + " guests");
  return parts.join(" · ");
}
