// The connection to the server: the event stream, heartbeats, the confirmations of this page, and
// commands. A page is live while it hears the server and the server hears it. If either fails for two
// heartbeats it says NOT LIVE, and polls the board every few seconds until both work again.

import { tabSetting, randomID } from "./dom.js";
import { setServerTime, now } from "./time.js";
import { word } from "./words.js";

export class Connection {
  // handler: {onState(snapshot), onChange(event), onLive(wasLive), onNotLive(since, onlyDeaf),
  // onPolled(ok), onConnecting(), visibleJobs(), heldJobs()}
  constructor({ setup, tag, store, handler }) {
    this.web = "/web/" + setup.web + "/";
    this.base = location.pathname.replace(/\/$/, "");
    this.page = randomID();
    this.tag = tag;
    this.beat = setup.beat;
    this.store = store;
    this.handler = handler;
    this.confirmed = new Set(); // jobs that this page has confirmed to the server
    this.confirmAll = true; // the server knows nothing of this page: confirm every ticket
    this.pending = new Map(); // by order: the versions for which commands are pending
    this.lastSignAt = performance.now(); // when the server was last heard, by this page's clock
    this.answeredAt = performance.now(); // when the server last took a confirmation
    this.liveUntil = now(); // by the server's clock
    this.notLive = false;
    this.stream = null;
    this.openedAt = 0;
  }

  start() {
    if (!document.hidden) this.open();
    setInterval(() => this.keepLive(), 500);
    document.addEventListener("visibilitychange", () => (document.hidden ? this.pause() : this.resume()));
    addEventListener("pagehide", () => this.bye());
    addEventListener("online", () => this.notLive && !document.hidden && this.open());
  }

  // pause ends the stream of a page in the background. No cook sees it, so it is not live; and over plain HTTP a
  // browser has six connections to a server for all its tabs.
  pause() {
    if (this.stream) this.stream.close();
    this.stream = null;
    this.bye();
  }

  resume() {
    this.lastSignAt = this.answeredAt = performance.now();
    if (!this.notLive) this.handler.onConnecting();
    this.open();
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
    listen("state", (state) => {
      this.noteSign();
      this.handler.onState(state);
    });
    listen("change", (event) => {
      this.noteSign();
      this.handler.onChange(event);
    });
    listen("beat", (beat) => this.onBeat(beat));
    s.onopen = () => {
      this.confirmAll = true; // the browser also reconnects by itself
    };
    s.onerror = () => {
      if (s !== this.stream) return;
      if (!this.notLive) this.handler.onConnecting();
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

  // noteSign notes a sign of life from the server.
  noteSign() {
    this.lastSignAt = performance.now();
  }

  // onBeat answers a heartbeat: that is what makes this page live for the server.
  onBeat(beat) {
    setServerTime(beat);
    this.noteSign();
    this.keepLive();
    this.confirm();
    // An event that is on its way gets a moment to arrive; then a change was missed.
    const mine = this.store.id;
    if (beat.id === mine) return;
    setTimeout(() => this.store.id === mine && !this.notLive && this.poll(), 1500);
  }

  // keepLive finds out whether this page is live; if not, it connects anew and polls. A connection can stay open
  // although the server hangs or the network is gone, so silence is the only proof; and a stream that works proves
  // nothing about the other direction, so confirmations that are not taken count as much.
  keepLive() {
    if (document.hidden) return;
    const t = performance.now(),
      most = 2 * this.beat + 500;
    const serverSilent = t - this.lastSignAt > most;
    const serverDeaf = t - this.answeredAt > most;
    if (!serverSilent && !serverDeaf) {
      const wasLive = !this.notLive;
      this.notLive = false;
      this.liveUntil = now();
      if (this.stream && this.stream.readyState === 1) this.handler.onLive(wasLive);
      return;
    }
    const onlyDeaf = serverDeaf && !serverSilent; // if it is silent too, the cover says that new orders are missing
    if (!this.notLive || onlyDeaf !== this.wasDeaf) this.handler.onNotLive(this.liveUntil, onlyDeaf);
    if (!this.notLive) this.polledAt = 0;
    if (!this.notLive && serverSilent) this.open();
    this.notLive = true;
    this.wasDeaf = onlyDeaf;
    // A stream that opened and stays silent is of no use.
    if (serverSilent && t - this.openedAt > 2 * this.beat) this.open();
    if (t - this.polledAt > this.beat) this.poll();
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

  // reload loads the page again if the server answers. A browser that loads a page from a server that
  // is down shows its own error page for good.
  async reload() {
    const got = await request(this.base + "/state", {}, 4000).catch(() => null);
    if (got && got.ok) location.reload();
    return Boolean(got && got.ok);
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

  // confirm tells the server which tickets this browser holds, which makes them "shown", and which of them a cook can
  // see now without turning to another sheet.
  async confirm() {
    if (!this.stream || this.stream.readyState !== 1) return;
    if (this.confirming) {
      this.confirmAgain = true;
      return;
    }
    this.confirming = true;
    try {
      do {
        this.confirmAgain = false;
        const all = this.handler.heldJobs();
        const whole = this.confirmAll;
        const jobs = whole ? all : all.filter((j) => !this.confirmed.has(j));
        const body = post({ page: this.page, jobs, visible: this.handler.visibleJobs() });
        const got = await request(this.base + "/shown", body, 4000);
        if (got.status === 409) return; // the stream has ended; the next one starts with a heartbeat
        if (!got.ok) throw new Error(got.status);
        this.answeredAt = performance.now();
        this.confirmAll = (await got.json()).fresh && !whole;
        this.confirmed = new Set(all); // one that left the board and comes back is confirmed anew
        this.confirmAgain = this.confirmAgain || this.confirmAll;
        if (this.notLive) this.keepLive();
      } while (this.confirmAgain && this.stream && this.stream.readyState === 1);
    } catch (e) {
      this.confirmAll = true; // everything again with the next heartbeat
    } finally {
      this.confirming = false;
    }
  }

  // isPending reports whether a command for an order is pending; for one of its versions, if that is
  // given.
  isPending(key, version) {
    const of = this.pending.get(key) || [];
    return version === undefined ? of.length > 0 : of.includes(version);
  }

  // send sends one command for an order and resolves to the server's result. It is sent until it is
  // answered, always with the same id, so the server does it once. tell(text) is called if that takes
  // long.
  async send(verb, order, body, tell) {
    const command = { id: randomID(), page: this.page, do: verb, order: order.key, version: order.version, ...body };
    this.pending.set(order.key, [...(this.pending.get(order.key) || []), order.version]);
    try {
      for (let n = 0; ; n++) {
        try {
          const got = await request(this.base + "/do", post(command), 5000);
          if (got.ok) return await got.json();
          if (got.status < 500 && got.status !== 429) return { outcome: "refused", text: await got.text() };
        } catch (e) {
          /* no answer: send it again */
        }
        if (n === 2) tell(word("no_answer_yet"));
        await new Promise((done) => setTimeout(done, Math.min(5000, 250 * Math.pow(2, n))));
      }
    } finally {
      const left = this.pending.get(order.key);
      left.splice(left.indexOf(order.version), 1);
      if (!left.length) this.pending.delete(order.key);
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
