// The harness of the browser tests: the process under test, tickets for it, and browsers.

import { spawn } from "node:child_process";
import dgram from "node:dgram";
import { createRequire } from "node:module";
import { mkdirSync, mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import net from "node:net";

const modules = process.env.KDS_E2E_MODULES;
const require = createRequire(join(modules, "node_modules", "x.js"));
const { chromium } = require("playwright-core");
const axe = require("axe-core");

export const shots = process.env.KDS_E2E_SHOTS || join(tmpdir(), "kds-shots");
mkdirSync(shots, { recursive: true });

// freePort finds a port below those that the system gives to outgoing connections: one of them would take it while the
// process under test is down. It is kept for this process as natstest.FreePort keeps it, by a UDP port.
export async function freePort() {
  for (;;) {
    const port = 11000 + Math.floor(Math.random() * 21000); // browsers refuse 10080
    const free = await new Promise((done) => {
      const kept = dgram.createSocket("udp4").unref();
      kept.on("error", () => done(false));
      kept.bind({ port: port + 32000, address: "127.0.0.1", exclusive: true }, () => {
        const s = net.createServer().on("error", () => done(false));
        s.listen(port, "127.0.0.1", () => s.close(() => done(true)));
      });
    });
    if (free) return port;
  }
}

// PATIENCE is how long a test waits for what must come, in ms. It is only reached by a test that fails.
export const PATIENCE = 60000;

export async function until(what, f, within = PATIENCE) {
  const end = Date.now() + within;
  let last;
  for (;;) {
    try {
      const v = await f();
      if (v) return v;
      last = v;
    } catch (e) {
      last = e;
    }
    if (Date.now() > end) throw new Error("not within " + within + " ms: " + what + " (" + last + ")");
    await new Promise((r) => setTimeout(r, 50));
  }
}

export function assert(is, what) {
  if (!is) throw new Error(what);
}

export function equal(got, want, what) {
  const g = JSON.stringify(got),
    w = JSON.stringify(want);
  if (g !== w) throw new Error(what + ": got " + g + ", want " + w);
}

export class TestServer {
  static async open() {
    const k = new TestServer();
    k.dir = mkdtempSync(join(process.env.KDS_E2E_WORK || tmpdir(), "kds-e2e-"));
    k.port = await freePort();
    k.controlPort = await freePort();
    k.url = "http://127.0.0.1:" + k.port;
    await k.start();
    return k;
  }

  async start() {
    this.process = spawn(
      process.env.KDS_E2E_SERVER,
      ["-test.run=^" + process.env.KDS_E2E_TEST + "$", "-test.timeout=600s"],
      {
        env: {
          ...process.env,
          KDS_E2E_DATABASE: join(this.dir, "ticketrail.db"),
          KDS_E2E_PORT: this.port,
          KDS_E2E_CONTROL_PORT: this.controlPort,
        },
        stdio: ["ignore", "pipe", "inherit"],
      },
    );
    this.ended = new Promise((done) => this.process.on("exit", done));
    await new Promise((done, fail) => {
      this.process.stdout.on("data", (b) => /ready/.test(b) && done());
      this.process.on("exit", () => fail(new Error("the server did not start")));
    });
  }

  // kill ends the process as a power cut would.
  async kill(signal = "SIGKILL") {
    this.process.kill(signal);
    await this.ended;
  }

  async ask(path, body) {
    const got = await fetch(
      "http://127.0.0.1:" + this.controlPort + path,
      body ? { method: "POST", body: JSON.stringify(body) } : {},
    );
    const text = await got.text();
    if (!got.ok) throw new Error(path + ": " + text);
    return JSON.parse(text);
  }

  put(station, ...tickets) {
    return this.ask("/put", { Station: station, Tickets: tickets });
  }

  status(station) {
    return this.ask("/status?station=" + station);
  }
}

// browse starts a browser with the switches of a kiosk: it may play sounds at once.
export async function browse(args = ["--autoplay-policy=no-user-gesture-required"]) {
  return chromium.launch({
    executablePath: process.env.KDS_E2E_CHROMIUM || "/usr/bin/chromium-headless-shell",
    args: ["--no-sandbox", ...args],
  });
}

// watch collects the errors on a page's console, except those that a killed server causes.
export async function watch(page) {
  const dead =
    /ERR_(CONNECTION_REFUSED|INTERNET_DISCONNECTED|EMPTY_RESPONSE|CONNECTION_RESET|INCOMPLETE_CHUNKED|NETWORK)/;
  page.wrong = [];
  page.on("pageerror", (e) => page.wrong.push(String(e)));
  page.on("console", (m) => m.type() === "error" && !dead.test(m.text()) && page.wrong.push(m.text()));
  return page;
}

// NO_WORKER are the options of a page whose requests a test answers: those that pass a service worker never reach it.
export const NO_WORKER = { serviceWorkers: "block" };

// open opens a screen and waits until it is live. settings are those of the tablet.
export async function open(browser, server, station, { settings, ...options } = {}) {
  const context = await browser.newContext({ viewport: { width: 1280, height: 800 }, colorScheme: "dark", ...options });
  if (settings) await context.addInitScript(storeSettings, settings);
  const page = await watch(await context.newPage());
  await page.goto((options.base || server.url) + "/screen/" + station);
  if (!options.notLive) await live(page);
  return page;
}

// resize gives a page another size, and waits until it is drawn. If it was just touched, its letters do not grow yet.
export async function resize(page, width, height) {
  await page.setViewportSize({ width, height });
  await page.evaluate(() => new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(drawn))));
}

export const live = (page) => page.waitForSelector("#live.is", { timeout: PATIENCE });

// heads are the names of the orders on the screen, in order.
export const heads = (page) =>
  page.$$eval(".column:not(.measure) article.card .number", (list) => list.map((h) => h.textContent));

// card is the card of an order, in one column or several.
export const card = (page, name) =>
  page.locator(".column:not(.measure) .card", {
    has: page.locator(".number", { hasText: new RegExp("^" + name + "$") }),
  });

// press presses something on a card, as the keyboard does: the page ignores a finger for a moment after a card
// has moved under it.
export const press = (page, name, what) => card(page, name).locator(what).first().evaluate((b) => b.click());

// clipped returns what of the visible cards cannot be read: it lies outside of the board, or is cut off.
export const clipped = (page) =>
  page.evaluate(() => {
    const board = document.getElementById("board").getBoundingClientRect();
    const out = [];
    for (const card of document.querySelectorAll(".column:not(.measure) .card")) {
      const c = card.getBoundingClientRect();
      if (c.bottom > board.bottom + 0.5 || c.right > board.right + 0.5) out.push("card " + card.textContent);
      for (const e of card.querySelectorAll("*")) {
        const r = e.getBoundingClientRect();
        if (r.height && (r.bottom > c.bottom + 0.5 || r.right > c.right + 0.5)) out.push(e.className + e.textContent);
        if (/auto|scroll/.test(getComputedStyle(e).overflowY)) out.push("scrolls: " + e.className);
      }
    }
    return out;
  });

export function item(name, quantity = "1", more = {}) {
  return { q: String(quantity), n: name, ...more };
}

export function order(number, ...lines) {
  return {
    number: String(number),
    table: "B" + (number % 30),
    server: "Ann",
    type: "Dine In",
    lines: lines.length ? lines : [item("Burger"), { ...item("no onions"), d: 1 }],
  };
}

export const SCREENS = [
  [1920, 1080],
  [1280, 800],
  [1024, 600],
];

export const texts = (page, selector) =>
  page.$$eval(".column:not(.measure) " + selector, (l) => l.map((e) => e.textContent.replace(/\s+/g, " ").trim()));

function storeSettings(all) {
  if (!location.host) return; // the empty page of a new tab
  for (const name of Object.keys(all)) localStorage.setItem("ticketrail." + name, all[name]);
}

// change changes settings of a page, which is loaded again.
export async function change(page, settings) {
  await page.evaluate(storeSettings, settings);
  await page.reload();
  await live(page);
}

export const chip = (page, kind) => page.locator("#alerts .chip." + kind);

// contrasts are those of the texts that can be seen, to what is behind them, by the formula of the web's guidelines for
// accessibility: [html, contrast] of each.
export const contrasts = (texts) =>
  texts.evaluateAll((list) => {
    const rgb = (s) => s.match(/[\d.]+/g).map(Number);
    const light = (s) => {
      const [r, g, b] = rgb(s).map((v) => (v <= 10 ? v / 3294 : Math.pow((v / 255 + 0.055) / 1.055, 2.4)));
      return 0.2126 * r + 0.7152 * g + 0.0722 * b + 0.05;
    };
    return list.filter((e) => e.offsetWidth && e.textContent.trim() && !e.closest(".measure")).map((e) => {
      let behind = e;
      while (rgb(getComputedStyle(behind).backgroundColor)[3] === 0) behind = behind.parentElement;
      const [a, b] = [light(getComputedStyle(e).color), light(getComputedStyle(behind).backgroundColor)];
      return [e.outerHTML.slice(0, 200), Math.max(a, b) / Math.min(a, b)];
    });
  });
export const contrast = async (text) => (await contrasts(text))[0][1];

// rows are the names of the orders of a list whose rows can be seen in whole; row is the one of an order.
export const rows = (page) =>
  page.$$eval("#board.list .row", (list) => {
    const board = document.getElementById("board").getBoundingClientRect();
    const isVisible = (r) => r.left >= board.left && r.right <= board.right && r.bottom <= board.bottom;
    const visible = list.filter((row) => isVisible(row.getBoundingClientRect()));
    return visible.map((row) => row.querySelector(".number").textContent);
  });
export const row = (page, name) =>
  page.locator("#board.list .row", { has: page.locator(".number", { hasText: new RegExp("^" + name + "$") }) });

// theEdgeIsLegible fails if a text in the bar is cut, too small or overprinted, or a number of a list is cut. It
// returns the texts in the bar.
export async function theEdgeIsLegible(page, at) {
  const { texts, letters } = await page.evaluate(() => {
    const texts = [];
    const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    while (walk.nextNode()) {
      const e = walk.currentNode.parentElement;
      if (!e.closest("#bar, .list .number") || !walk.currentNode.textContent.trim() || !e.offsetParent) continue;
      const range = document.createRange();
      range.selectNodeContents(walk.currentNode);
      const { left, top, right, bottom } = range.getBoundingClientRect();
      if (left >= innerWidth) continue; // on another page of the pass
      const box = (e.closest("button, p, h1") || e).getBoundingClientRect();
      const px = parseFloat(getComputedStyle(e).fontSize);
      const isCut =
        left < box.left - 1 || right > Math.min(innerWidth, box.right) + 1 || bottom > box.bottom + px / 4;
      const inBar = Boolean(e.closest("#bar"));
      texts.push({ left, top: top + px / 4, right, bottom: bottom - px / 4, isCut, inBar, px,
        text: walk.currentNode.textContent });
    }
    const name = document.querySelector(".column:not(.measure) .line .name, .list .number");
    return { texts, letters: parseFloat(getComputedStyle(name).fontSize) };
  });
  const inBar = texts.filter((t) => t.inBar);
  equal(texts.filter((t) => t.isCut).map((t) => t.text), [], "what is cut" + at);
  equal(inBar.filter((t) => t.px < (2 / 3) * letters - 0.1).map((t) => t.text), [], "what is too small" + at);
  const over = (a, b) =>
    a !== b && a.left < b.right - 1 && b.left < a.right - 1 && a.top < b.bottom - 1 && b.top < a.bottom - 1;
  equal(inBar.filter((a) => inBar.some((b) => over(a, b))).map((t) => t.text), [], "what is overprinted" + at);
  return inBar;
}

// violations is what axe finds on a page, or within one of its elements. A page that is looked at several times keeps
// axe, because to load it takes as long as to look.
export async function violations(page, within = "html") {
  if (!(await page.evaluate(() => Boolean(window.axe)))) await page.evaluate(axe.source);
  return page.evaluate(async (within) => {
    const { violations } = await window.axe.run(within === "html" ? document : within, { resultTypes: ["violations"] });
    const node = (n) => n.html.slice(0, 140) + " " + n.failureSummary;
    return violations.map((v) => [v.id, v.nodes.slice(0, 3).map(node)]);
  }, within);
}

export const PHONE = { viewport: { width: 360, height: 740 }, hasTouch: true };

// fits says that nothing is wider than the page, and that axe finds nothing.
export async function fits(page, what) {
  const wide = await page.evaluate(() => {
    const page = document.scrollingElement.clientWidth;
    return Array.from(document.querySelectorAll("body *"))
      .filter((e) => e.getBoundingClientRect().right > page + 0.5)
      .map((e) => e.tagName + "." + e.className + " " + e.textContent.slice(0, 40));
  });
  equal(wide, [], "wider than the page: " + what);
  equal(await violations(page), [], what);
}

// passes lets milliseconds pass at once for a page, and not for its server.
export const passes = (page, ms) =>
  page.evaluate((ms) => {
    const now = performance.now.bind(performance);
    performance.now = () => now() + ms;
  }, ms);

// SILENCE is more than the time, in ms, after which a page that hears nothing, or is not heard, is not live.
export const SILENCE = 11000;

// show makes a page the tab that is seen, or one in the background.
export const show = (page, seen) =>
  page.evaluate((seen) => {
    Object.defineProperty(document, "hidden", { configurable: true, get: () => !seen });
    document.dispatchEvent(new Event("visibilitychange"));
  }, seen);

// THEIRS are the Latin words of a page in Chinese that are names, or stand on the keys of a keyboard.
// Paper is in English, and the days of the opening hours are those of the configuration.
const THEIRS = new RegExp("ticketrail|HTTPS|JavaScript|XL|Shift|Esc|PageUp|PageDown|Home|End|Safari|Chrome|" +
  "REPRINT|POSSIBLE DUPLICATE|LATE|mon-fri|fri,sat", "g");

// latinWords returns the Latin words that a page shows or tells a screen reader, or null.
export async function latinWords(page) {
  const text = await page.evaluate(() => {
    const labels = Array.from(document.querySelectorAll("[aria-label]"), (e) => e.getAttribute("aria-label"));
    return [document.body.innerText, ...labels].join(" ");
  });
  return text.replace(THEIRS, "").match(/[A-Za-z]{2,}/g);
}
