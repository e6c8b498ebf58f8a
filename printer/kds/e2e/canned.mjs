// A server that answers a page with what a test gives it: what the page draws, says and posts, without a
// board behind it. The protocol is in the package documentation.

import http from "node:http";
import { readFileSync } from "node:fs";
import { basename, join } from "node:path";
import { fileURLToPath } from "node:url";
import { freePort } from "./harness.mjs";

const web = join(fileURLToPath(import.meta.url), "..", "..", "web");
const table = JSON.parse(readFileSync(join(web, "words.json"), "utf8"));
const types = { js: "text/javascript", css: "text/css", svg: "image/svg+xml" };

const keys = {
  bump: ["Enter", "Space"], item: ["i"], details: ["d"], ack_void: ["v"], undo: ["u"], print: ["p"],
  recall_last: ["r"], recall_list: ["Shift+R"], all_day: ["a"], course: ["c"], settings: ["s"], help: ["h", "?"],
  close: ["Escape"], left: ["ArrowLeft"], right: ["ArrowRight"], up: ["ArrowUp"], down: ["ArrowDown"],
  page_next: ["PageDown"], page_previous: ["PageUp"], first: ["Home"], last: ["End"],
};
for (let i = 1; i <= 10; i++) keys["select_" + i] = [String(i % 10)];

export class Canned {
  static async open() {
    const s = new Canned();
    s.setup = {
      web: "x", name: "hot-line", title: "Hot line", language: "en",
      pass: false, beat: 5000, warn_after: 300e3, late_after: 480e3,
      recall_for: 3600e3, undo_for: 10e3, unseen_after: 45e3, repeat: 0, keys, print: true,
    };
    s.orders = [];
    s.recall = [];
    s.counts = [];
    s.events = [];
    s.seq = 1;
    s.ahead = 0; // by how much its clock is ahead, in milliseconds
    s.posts = []; // {path, body} of each
    s.streams = new Set();
    s.refuse = new Set(); // paths that are answered 503
    await s.start();
    return s;
  }

  async start() {
    this.server = http.createServer((q, r) => this.answer(q, r).catch((e) => r.writeHead(500).end(String(e))));
    this.port ||= await freePort();
    await new Promise((done) => this.server.listen(this.port, "127.0.0.1", done));
    this.url = "http://127.0.0.1:" + this.port;
    this.beats = setInterval(() => this.tell("beat", this.beat()), this.setup.beat);
  }

  // kill ends it as a power cut would; start brings it back.
  async kill() {
    clearInterval(this.beats);
    this.streams.clear();
    this.server.closeAllConnections();
    await new Promise((done) => this.server.close(done));
  }

  beat() {
    return { id: "run." + this.seq, now: Date.now() + this.ahead, offset: 0 };
  }

  snapshot() {
    const { setup, seq, orders, recall } = this;
    return { id: "run." + seq, run: "run", seq, now: Date.now(), station: setup.name, orders, recall };
  }

  tell(kind, data) {
    for (const r of this.streams) r.write("event: " + kind + "\ndata: " + JSON.stringify(data) + "\n\n");
  }

  // put adds orders, or replaces those with the same key.
  put(...orders) {
    for (const o of orders) {
      for (const list of [this.orders, this.recall]) {
        const i = list.findIndex((x) => x.key === o.key);
        if (i >= 0) list.splice(i, 1);
      }
      (o.state === "open" ? this.orders : this.recall).push(o);
      this.seq++;
      this.tell("change", { id: "run." + this.seq, seq: this.seq, kind: "order", order: o.key, view: o });
    }
  }

  // commands returns the commands that were posted, as "bump k1".
  commands() {
    return this.posts.filter((p) => p.path === "/do").map(({ body }) => body.do + " " + body.order);
  }

  async answer(q, r) {
    const u = new URL(q.url, this.url);
    let text = "";
    for await (const chunk of q) text += chunk;
    r.setHeader(
      "Content-Security-Policy",
      "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'",
    );
    if (u.pathname.startsWith("/web/")) {
      const name = basename(u.pathname);
      r.setHeader("Content-Type", types[name.split(".")[1]]);
      r.setHeader("Service-Worker-Allowed", "/screen/");
      return r.end(readFileSync(join(web, name)));
    }
    const path = u.pathname.replace(/^\/screen\/[^/]+/, "");
    if (q.method === "POST") this.posts.push({ path, body: JSON.parse(text) });
    if (this.refuse.has(path)) return r.writeHead(503).end();
    const json = (v) => r.setHeader("Content-Type", "application/json").end(JSON.stringify(v));
    switch (path) {
      case "":
        return r.setHeader("Content-Type", "text/html").end(this.page());
      case "/events":
        r.setHeader("Content-Type", "text/event-stream").write("retry: 500\n\n");
        this.streams.add(r);
        q.on("close", () => this.streams.delete(r));
        this.tell("state", this.snapshot());
        return this.tell("beat", this.beat());
      case "/state":
        return json({ beat: this.beat(), setup: "tag", state: this.snapshot() });
      case "/shown":
        return json({ fresh: false });
      case "/allday":
        return json(this.counts);
      case "/timeline":
        return json(this.events);
      case "/do":
        return json(this.command(JSON.parse(text)));
    }
    return r.writeHead(204).end();
  }

  // command does what is needed for a page to go on.
  command({ id, do: verb, order, job, item, part }) {
    const was = [...this.orders, ...this.recall].find((o) => o.key === order);
    const o = JSON.parse(JSON.stringify(was));
    o.version++;
    if (verb === "bump") Object.assign(o, { state: "bumped", departure: this.seq, departed_at: Date.now() });
    if (verb === "bump" || verb === "ack_void") o.undo_until = Date.now() + this.setup.undo_for;
    if (verb === "undo" || verb === "recall") o.state = "open";
    if (verb === "ack_void") {
      o.must_ack_void = false;
      for (const v of o.voids) v.acked_at = Date.now();
    }
    if (verb === "ack_alarm") o.must_ack_alarm = false;
    const ticked = { tick: { state: "ticked", ticked_at: Date.now() }, untick: { state: "out", ticked_at: 0 } }[verb];
    if (ticked) Object.assign(o.parts.find((p) => p.station === part), ticked);
    if (verb.startsWith("item_")) {
      const t = o.tickets.find((t) => t.job === job);
      t.version++;
      t.items[item].done = verb === "item_done";
    }
    this.put(o);
    return { id, outcome: "done", order: o, at: "run." + this.seq };
  }

  page() {
    const script = (v) => JSON.stringify(v).replace(/</g, "\\u003c");
    const column = table.lang.indexOf(this.setup.language);
    const words = Object.fromEntries(Object.entries(table).map(([key, row]) => [key, row[column]]));
    const values = {
      ...Object.fromEntries(Object.entries(words).map(([key, text]) => ["Words." + key, text])),
      Words: script(words), Web: "/web/x/", "Page.Setup.Title": this.setup.title,
      "Page.Tag": '"tag"', "Page.Setup": script(this.setup),
      "Page.Beat": script(this.beat()), "Page.State": script(this.snapshot()),
    };
    return readFileSync(join(web, "page.html"), "utf8").replace(/\{\{\.([\w.]+)\}\}/g, (_, name) => values[name]);
  }
}

let jobs = 0;

// cannedOrder is an order as the server describes it. items: names, or objects with more; i is its number.
export function cannedOrder(i, items = ["Burger"], more = {}) {
  const at = Date.now() - (more.age || 60) * 1000;
  const lines = items.map((it, n) => ({ i: n, quantity: "1", ...(typeof it === "string" ? { name: it } : it) }));
  const ticket = {
    job: ++jobs, version: 1, station: "hot-line", state: "open", place: i, at, clock: "19:30", seen: at, items: lines,
    ...more.ticket,
  };
  return {
    key: "k" + i, version: 1, state: "open", place: i, number: "#" + i, table: "Table B" + (i % 30), type: "Dine In",
    dine_in: true, server: "Ann", guests: "4", venue: "Harbour Grill", requests: ["…9f2a"], received: at,
    clock: "19:30", courses: [], left: lines.length, ...more, tickets: [ticket],
  };
}

// bowl is an order of one item that is higher than a small screen.
export const bowl = (i) =>
  cannedOrder(
    i,
    [
      "Poke bowl",
      ...Array.from({ length: 21 }, (_, n) => ({
        name: "topping " + (n + 1),
        depth: 1,
        notes: n === 20 ? [{ text: "SHELLFISH ALLERGY", alarm: true }] : undefined,
      })),
    ],
    { alarms: [{ text: "SHELLFISH ALLERGY", job: 1, item: 21 }] },
  );
