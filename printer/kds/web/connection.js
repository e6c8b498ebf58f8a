// The connection to the server: the event stream, heartbeats, and the confirmations of this page. A
// page that misses two heartbeats says NOT LIVE and polls the board every few seconds until the
// stream works again.

import { tabSetting, randomID } from "./dom.js";
import { setServerTime, now } from "./time.js";

export class Connection {
  // handler: {onState(snapshot), onChange(event), onLive(wasLive), onNotLive(since), onPolled(ok),
  // onConnecting()}
  constructor({ setup, tag, store, handler }) {
    this.base = location.pathname.replace(/\/$/, "");
    this.page = randomID();
    this.tag = tag;
    this.beat = setup.beat;
    this.store = store;
    this.handler = handler;
    this.confirmed = new Set(); // jobs that this page has confirmed to the server
    this.confirmAll = true; // the server knows nothing of this page: confirm every card
    this.lastHeard = performance.now(); // when the server was last heard, by this page's clock
    this.lastHeardServerTime = now();
    this.notLive = false;
    this.stream = null;
    this.openedAt = 0;
  }

  start() {
    this.open();
    setInterval(() => this.checkSilence(), 500);
    document.addEventListener("visibilitychange", () => {
      if (!document.hidden) {
        this.checkSilence();
        this.confirm();
      }
    });
    addEventListener("pagehide", () => this.bye());
    addEventListener("online", () => this.notLive && this.open());
  }

  open() {
    if (this.stream) this.stream.close();
    this.openedAt = performance.now();
    this.confirmAll = true;
    const s = new EventSource(this.base + "/events?page=" + this.page + "&after=" + encodeURIComponent(this.store.id));
    this.stream = s;
    const listen = (kind, f) =>
      s.addEventListener(kind, (e) => {
        if (s === this.stream) f(JSON.parse(e.data));
      });
    listen("hello", (h) => this.checkSetup(h.setup));
    listen("state", (state) => this.heard() || this.handler.onState(state));
    listen("change", (event) => {
      this.heard();
      // If the card comes back, it must be confirmed anew.
      if (event.card && event.card.state !== "open") this.confirmed.delete(event.card.job);
      this.handler.onChange(event);
    });
    listen("beat", (beat) => this.onBeat(beat));
    s.onopen = () => {
      this.confirmAll = true; // the browser also reconnects by itself
    };
    s.onerror = () => {
      if (s !== this.stream) return;
      this.handler.onConnecting();
      // The browser reconnects by itself, unless the answer was not a stream.
      if (s.readyState === 2) {
        this.poll(); // finds out whether this browser lost its pairing
        setTimeout(() => s === this.stream && this.open(), 2000);
      }
    };
  }

  // bye tells the server that the page is being closed. Without it the server would wait a few
  // seconds for the page to reconnect before the screen is dark.
  bye() {
    const said = post({ page: this.page });
    try {
      navigator.sendBeacon(this.base + "/bye", new Blob([said.body], { type: "application/json" }));
    } catch (e) {
      // Chromium before 81 sends no JSON this way
      fetch(this.base + "/bye", { ...said, keepalive: true }).catch(() => {});
    }
  }

  // heard notes a sign of life from the server.
  heard() {
    this.lastHeard = performance.now();
    this.lastHeardServerTime = now();
  }

  // onBeat answers a heartbeat: that is what makes this page live for the server.
  onBeat(beat) {
    setServerTime(beat);
    this.heard();
    if (this.notLive) {
      this.notLive = false;
      this.handler.onLive();
    } else {
      this.handler.onLive(true);
    }
    this.confirm();
    this.requestIfMissed(beat.id);
  }

  // requestIfMissed loads the board if this page missed a change. An event that is on its way gets
  // a moment to arrive.
  requestIfMissed(id) {
    const mine = this.store.id;
    if (id === mine) return;
    setTimeout(() => {
      if (this.store.id === mine && !this.notLive) this.poll();
    }, 1500);
  }

  // checkSilence declares the page not live when the server is silent. A connection can stay open
  // although the server hangs or the network is gone, so silence is the only proof.
  checkSilence() {
    const silent = performance.now() - this.lastHeard;
    if (!this.notLive && silent > 2 * this.beat + 500) {
      this.notLive = true;
      this.handler.onNotLive(this.lastHeardServerTime);
      this.open();
      this.polledAt = 0;
    }
    if (!this.notLive) return;
    // A stream that opened and stays silent is of no use.
    if (performance.now() - this.openedAt > 2 * this.beat) this.open();
    if (performance.now() - this.polledAt > this.beat) this.poll();
  }

  // poll loads the whole board. It is slow but needs no stream.
  async poll() {
    this.polledAt = performance.now();
    try {
      const got = await request(this.base + "/state", {}, 4000);
      if (got.status === 404) location.replace("/"); // the screen was removed from the configuration
      if (!got.ok) throw new Error(got.status);
      const all = await got.json();
      if (this.checkSetup(all.setup)) return;
      setServerTime(all.beat);
      this.handler.onState(all.state);
      if (this.notLive) this.handler.onPolled(true);
    } catch (e) {
      if (this.notLive) this.handler.onPolled(false);
    }
  }

  // checkSetup reloads the page if the server has another version or setup, but not in a loop: if
  // the new page is no better, cooks still need to read it.
  checkSetup(tag) {
    if (tag === this.tag) return false;
    const last = Number(tabSetting.get("loaded", "0"));
    if (Date.now() - last < 20000 && Date.now() >= last) return false;
    tabSetting.set("loaded", String(Date.now()));
    location.reload();
    return true;
  }

  // confirm tells the server which cards this page holds, which is what makes a ticket "shown". A
  // page in the background is seen by nobody, so it confirms nothing.
  async confirm() {
    if (document.hidden || this.notLive) return;
    if (this.confirming) {
      this.confirmAgain = true;
      return;
    }
    this.confirming = true;
    try {
      do {
        this.confirmAgain = false;
        const all = this.store.jobs();
        const whole = this.confirmAll;
        const jobs = whole ? all : all.filter((j) => !this.confirmed.has(j));
        const got = await request(this.base + "/shown", post({ page: this.page, jobs }), 4000);
        if (got.status === 409) return; // the stream has ended; the next one starts with a heartbeat
        if (!got.ok) throw new Error(got.status);
        this.confirmAll = (await got.json()).fresh && !whole;
        this.confirmed = new Set(all);
        this.confirmAgain = this.confirmAgain || this.confirmAll;
      } while (this.confirmAgain);
    } catch (e) {
      this.confirmAll = true; // everything again with the next heartbeat
    } finally {
      this.confirming = false;
    }
  }
}

export function post(body) {
  return { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body) };
}

// request is fetch with a time-out. A browser that is no longer paired goes to the start page,
// which shows a code.
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
