// The page's copy of the server's state: the cards of a board, or the orders of an expo. Only the
// server's snapshots and events change it, never a press: what is shown is what is stored.

export class Store {
  constructor(setup) {
    this.setup = setup;
    this.byKey = new Map(); // cards by job, orders by key
    this.entries = new WeakMap(); // the entry made of each card or order
    this.id = "";
    this.run = "";
    this.seq = 0;
  }

  // load takes a snapshot. It refuses one that is older than what the stream has told since: the
  // board must never go back.
  load(state) {
    if (state.run === this.run && state.seq < this.seq) return false;
    this.byKey.clear();
    for (const t of [...(state.open || state.orders), ...state.recall]) this.byKey.set(keyOf(t), t);
    [this.id, this.run, this.seq] = [state.id, state.run, state.seq];
    return true;
  }

  // apply takes one event. The server sends them in order.
  apply(event) {
    [this.id, this.seq] = [event.id, event.seq];
    if (event.kind === "card") this.byKey.set(keyOf(event.card), event.card);
    else if (event.kind === "order") this.byKey.set(keyOf(event.view), event.view);
    else if (event.kind === "forget") this.byKey.delete(String(event.job));
    else if (event.kind === "forget_order") this.byKey.delete(event.order);
  }

  // open returns the entries on the board, sorted by place; at the expo by age.
  open() {
    const list = [];
    for (const t of this.byKey.values()) if (t.state === "open") list.push(this.entry(t));
    return list.sort(this.setup.expo ? byAge : byPlace);
  }

  // recall returns the entries that can be recalled, newest first.
  recall(now) {
    const list = [];
    for (const t of this.byKey.values()) {
      if (t.state !== "open" && now - t.off_at < this.setup.recall_for) list.push(this.entry(t));
    }
    return list.sort((a, b) => b.source.off - a.source.off).slice(0, 50);
  }

  get(key) {
    const t = this.byKey.get(key);
    return t && this.entry(t);
  }

  // jobs returns the job of every card on the board, on whichever page of it.
  jobs() {
    return [].concat(...this.open().map(jobsOf));
  }

  // allJobs returns the jobs of all cards that the page knows, bumped ones too.
  allJobs() {
    const jobs = new Set();
    for (const t of this.byKey.values()) for (const j of jobsOf(this.entry(t))) jobs.add(j);
    return jobs;
  }

  // entry returns what is rendered of a card or order. An unchanged card keeps its entry, so the
  // columns need not render it again.
  entry(record) {
    let e = this.entries.get(record);
    if (!e) this.entries.set(record, (e = this.setup.expo ? orderEntry(record) : cardEntry(record)));
    return e;
  }
}

// jobsOf returns the jobs of an entry's cards.
export const jobsOf = (e) => [].concat(...e.groups.map((g) => g.cards.map((c) => c.job)));

const keyOf = (t) => (t.key !== undefined ? t.key : String(t.job));
const byPlace = (a, b) => a.source.place - b.source.place || a.source.job - b.source.job;
const byAge = (a, b) => a.since - b.since || (a.key < b.key ? -1 : 1);

function cardEntry(c) {
  return {
    key: keyOf(c),
    source: c,
    version: c.version,
    since: c.received > 0 ? c.received : c.put_at,
    head: c.number || c.table || kindTitle(c.kind) || c.type || "Ticket",
    who: detailsText(c),
    meta: [c.clock, c.station, c.course, c.destination, c.venue, c.request].filter(Boolean).join(" · "),
    groups: [{ cards: [c], isOwn: true }],
    courses: c.courses || [],
    mustAck: Boolean(c.must_ack),
    void: Boolean(c.void || c.must_ack),
    ready: true,
  };
}

function orderEntry(o) {
  const courses = [];
  let hasVoid = false;
  for (const s of o.stations)
    for (const c of s.cards) {
      for (const name of c.courses || []) if (!courses.includes(name)) courses.push(name);
      hasVoid = hasVoid || Boolean(c.void || c.must_ack);
    }
  return {
    key: o.key,
    source: o,
    version: o.version,
    since: o.received,
    head: o.number || o.table || o.type || "Order",
    who: detailsText(o),
    meta: o.clock || "",
    groups: o.stations,
    courses,
    mustAck: false,
    void: hasVoid,
    ready: o.ready,
  };
}

function kindTitle(kind) {
  return kind === "slip" ? "Expired" : kind === "test" ? "Test" : "";
}

function detailsText(t) {
  const parts = [];
  if (t.number && t.table) parts.push(t.table);
  if (t.type) parts.push(t.type);
  if (t.server) parts.push(t.server);
  if (t.guests) parts.push(t.guests === "1" ? "1 guest" : t.guests + " guests");
  return parts.join(" · ");
}
