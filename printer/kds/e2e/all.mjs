// Runs the browser tests. Each exported function of the modules below is one test, with a server of its own; those of
// the canned modules have a server that answers what the test says. A test that fails leaves screenshots. Tests mostly
// wait, so three run at a time. Those that follow each other share a browser, because its start costs more than many of
// them; what a page stores ends with its context.

import { join } from "node:path";
import { TestServer, browse, shots } from "./harness.mjs";
import { Canned } from "./canned.mjs";
import * as page from "./page.mjs";
import * as accessible from "./accessible.mjs";
import * as cooks from "./cooks.mjs";
import * as cards from "./cards.mjs";
import * as pass from "./pass.mjs";
import * as pickup from "./pickup.mjs";
import * as languages from "./languages.mjs";
import * as daemon from "./daemon.mjs";
import * as board from "./board.mjs";
import * as connection from "./connection.mjs";
import * as pairing from "./pairing.mjs";
import * as manage from "./manage.mjs";
import * as settings from "./settings.mjs";
import * as browser2020 from "./browser2020.mjs";
import * as firefox from "./firefox.mjs";

const only = process.argv[2];
const canned = [accessible, cooks, cards, page, pass, languages]; // the longest first
const tests = [...canned, connection, daemon, board, pickup, pairing, manage, settings, browser2020, firefox]
  .flatMap((m) => Object.entries(m).map(([name, test]) => [name, test, canned.includes(m) ? Canned : TestServer]))
  .filter(([name]) => /^[a-z]/.test(name) && (!only || name.includes(only))); // classes are no tests
let failed = 0;

async function run(browser, name, test, Server) {
  const start = Date.now();
  const server = await Server.open();
  const pages = () => browser.contexts().flatMap((c) => c.pages());
  let timer;
  const tooLong = new Promise((_, fail) => {
    timer = setTimeout(() => fail(new Error("it has not ended after four minutes")), 240000);
  });
  try {
    await Promise.race([test(server, browser), tooLong]);
    const wrong = pages().flatMap((p) => p.wrong || []);
    if (wrong.length) throw new Error("errors on the console: " + wrong.join("; "));
    console.log("ok   " + name + " (" + (Date.now() - start) + " ms)");
  } catch (e) {
    failed++;
    console.log("FAIL " + name + ": " + (e.stack || e));
    let n = 0;
    for (const p of pages())
      await p.screenshot({ path: join(shots, "failed-" + name + "-" + ++n + ".png"), timeout: 3000 }).catch(() => {});
    await browser.close(); // the next test has one that works
  }
  clearTimeout(timer);
  await Promise.all(browser.contexts().map((context) => context.close()));
  await server.kill();
}

async function worker() {
  let browser = await browse();
  for (let next = tests.shift(); next; next = tests.shift()) {
    if (!browser.isConnected()) browser = await browse();
    await run(browser, ...next);
  }
  await browser.close();
}

const total = tests.length;
await Promise.all([worker(), worker(), worker()]);
console.log(total - failed + " of " + total + " browser tests passed");
process.exit(failed || !total ? 1 : 0);
