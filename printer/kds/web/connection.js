// The line to the server: a stream of changes, heartbeats and the answers to them. A page that
// missed two heartbeats says that it is not live, and asks for the board every few seconds
// until the stream works again.

import { keptByTab, random } from "./dom.js";
import { heard, now } from "./time.js";

export class Live {
  // on: {state(snapshot), change(event), up(), down(since), polled(ok), trouble()}
  constructor({ setup, tag, store, on }) {
    this.base = location.pathname.replace(/\/$/, "");
    this.page = random();
    this.tag = tag;
    this.beat = setup.beat;
    this.store = store;
    this.on = on;
    this.said = new Set(); // jobs the server knows that this page shows
    this.fresh = true; // the server knows nothing of this page
    this.last = performance.now(); // when the server was heard last
    this.lastServer = now();
    this.dead = false;
    this.stream = null;
    this.opened = 0;
  }

  start() {
    this.open();
    setInterval(() => this.watch(), 500);
    document.addEventListener("visibilitychange", () => {
      if (!document.hidden) {
        this.watch();
        this.answer();
      }
    });
    addEventListener("pagehide", () => this.bye());
    addEventListener("online", () => this.dead && this.open());
  }

  open() {
    if (this.stream) this.stream.close();
    this.opened = performance.now();
    this.fresh = true;
    const s = new EventSource(this.base + "/events?page=" + this.page + "&after=" + encodeURIComponent(this.store.id));
    this.stream = s;
    const listen = (kind, f) =>
      s.addEventListener(kind, (e) => {
        if (s === this.stream) f(JSON.parse(e.data));
      });
    listen("hello", (h) => this.checkSetup(h.setup));
    listen("state", (state) => this.alive() || this.on.state(state));
    listen("change", (event) => {
      this.alive();
      // Should a card come back that was given up, that is to be said anew.
      if (event.card && event.card.state !== "open") this.said.delete(event.card.job);
      this.on.change(event);
    });
    listen("beat", (beat) => this.pulse(beat));
    s.onopen = () => {
      this.fresh = true; // it opens by itself again, too
    };
    s.onerror = () => {
      if (s !== this.stream) return;
      this.on.trouble();
      // The browser comes back by itself, unless it was answered with something else than a stream.
      if (s.readyState === 2) {
        this.poll(); // which tells what is wrong, if it is that this screen may not be here
        setTimeout(() => s === this.stream && this.open(), 2000);
      }
    };
  }

  // bye is the last word. Without it the server waits a few seconds for the page to come back.
  bye() {
    const said = post({ page: this.page });
    try {
      navigator.sendBeacon(this.base + "/bye", new Blob([said.body], { type: "application/json" }));
    } catch (e) {
      // Chromium before 81 sends no JSON this way
      fetch(this.base + "/bye", { ...said, keepalive: true }).catch(() => {});
    }
  }

  alive() {
    this.last = performance.now();
    this.lastServer = now();
  }

  pulse(beat) {
    heard(beat);
    this.alive();
    if (this.dead) {
      this.dead = false;
      this.on.up();
    } else {
      this.on.up(true);
    }
    this.answer();
    this.compare(beat.id);
  }

  // compare asks for the whole board if this page missed something. What is on its way gets a
  // moment to arrive.
  compare(id) {
    const mine = this.store.id;
    if (id === mine) return;
    setTimeout(() => {
      if (this.store.id === mine && !this.dead) this.poll();
    }, 1500);
  }

  watch() {
    const silent = performance.now() - this.last;
    if (!this.dead && silent > 2 * this.beat + 500) {
      this.dead = true;
      this.on.down(this.lastServer);
      this.open();
      this.polled = 0;
    }
    if (!this.dead) return;
    // A stream that opened and says nothing is as good as none.
    if (performance.now() - this.opened > 2 * this.beat) this.open();
    if (performance.now() - this.polled > this.beat) this.poll();
  }

  async poll() {
    this.polled = performance.now();
    try {
      const got = await request(this.base + "/state", {}, 4000);
      if (got.status === 404) location.replace("/"); // the screen was taken out of the configuration
      if (!got.ok) throw new Error(got.status);
      const all = await got.json();
      if (this.checkSetup(all.setup)) return;
      heard(all.beat);
      this.on.state(all.state);
      if (this.dead) this.on.polled(true);
    } catch (e) {
      if (this.dead) this.on.polled(false);
    }
  }

  // checkSetup loads the page again if the server is of another version, or configured
  // differently; not again and again.
  checkSetup(tag) {
    if (tag === this.tag) return false;
    const last = Number(keptByTab.get("loaded", "0"));
    if (Date.now() - last < 20000 && Date.now() >= last) return false;
    keptByTab.set("loaded", String(Date.now()));
    location.reload();
    return true;
  }

  // answer tells the server that somebody can see this page, and which cards are on its board. A
  // page in the background is seen by nobody.
  async answer() {
    if (document.hidden || this.dead) return;
    if (this.busy) {
      this.again = true;
      return;
    }
    this.busy = true;
    try {
      do {
        this.again = false;
        const all = this.store.jobs();
        const whole = this.fresh;
        const jobs = whole ? all : all.filter((j) => !this.said.has(j));
        const got = await request(this.base + "/shown", post({ page: this.page, jobs }), 4000);
        if (got.status === 409) return; // the stream ended meanwhile; the next one begins with a heartbeat
        if (!got.ok) throw new Error(got.status);
        this.fresh = (await got.json()).fresh && !whole;
        this.said = new Set(all);
        this.again = this.again || this.fresh;
      } while (this.again);
    } catch (e) {
      this.fresh = true; // with the next heartbeat
    } finally {
      this.busy = false;
    }
  }
}

export function post(body) {
  return { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body) };
}

// request is fetch with a limit of time. A browser that may not be here any more goes to the door.
export async function request(url, options, within) {
  const stop = new AbortController();
  const timer = setTimeout(() => stop.abort(), within);
  try {
    const got = await fetch(url, { credentials: "same-origin", cache: "no-store", ...options, signal: stop.signal });
    if (got.status === 401 || got.status === 403) location.replace("/");
    return got;
  } finally {
    clearTimeout(timer);
  }
}
