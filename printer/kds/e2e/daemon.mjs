// The whole daemon: from the webhook to the screen, through a power cut, and out of the backup
// printer when the screen is dark.

import { execFileSync, spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import {
  PATIENCE, SILENCE, assert, equal, freePort, heads, live, passes, press, row, texts, until, watch,
} from "./harness.mjs";

const venue = "6f1c8f5e-52ad-4a0b-9e9b-2f7b7b7f3a11";

const SCREENS = `
printers: [ { name: grill, address: "file://PAPER" }, { name: bar, address: "file:///dev/null" } ]
screens:
  - { name: hot-line, title: "Hot line", hold_for: 30s }
  - { name: pass, mode: pass, of: [hot-line], leave_out: [bar] }
routes: [ { to: [hot-line, bar] } ]
`;

export class Daemon {
  // open starts a daemon. stations are the sections of its configuration that name them, and the fallback if it is not
  // called grill.
  static async open(dir, stations = SCREENS, language = "en") {
    const d = new Daemon();
    [d.hook, d.screens, d.metrics] = [await freePort(), await freePort(), await freePort()];
    d.config = join(dir, "ticketrail.yaml");
    d.paper = join(process.env.KDS_E2E_PAPER || tmpdir(), randomUUID() + ".bin"); // in /dev/shm it would be a device
    d.url = "http://127.0.0.1:" + d.screens;
    writeFileSync(d.paper, "");
    writeFileSync(
      d.config,
      `
receiver: { listen: "127.0.0.1:${d.hook}" }
venues: [ { id: ${venue}, name: Harbour Grill, timezone: Australia/Melbourne } ]
${stations.replace("PAPER", d.paper)}
${stations.includes("fallback:") ? "" : "fallback: grill"}
display: { listen: "127.0.0.1:${d.screens}", language: ${language} }
storage: { path: ${join(dir, "daemon.db")} }
admin: { socket: ${join(dir, "d.sock")} }
metrics: { listen: "127.0.0.1:${d.metrics}" }
`,
    );
    await d.start();
    return d;
  }

  async start() {
    this.process = spawn(process.env.KDS_E2E_DAEMON, ["serve", "--config", this.config], {
      stdio: ["ignore", "ignore", "pipe"],
    });
    this.log = "";
    this.process.stderr.on("data", (b) => {
      this.log += b;
    });
    this.ended = new Promise((done) => this.process.on("exit", done));
    await until("the daemon answers: " + this.log, async () => (await fetch(this.url + "/").catch(() => ({}))).status);
  }

  async kill() {
    this.process.kill("SIGKILL");
    await this.ended;
  }

  ask(...args) {
    return execFileSync(process.env.KDS_E2E_DAEMON, [...args, "--config", this.config], { encoding: "utf8" });
  }

  // post sends a print request, and returns the status of the answer.
  async post(body) {
    const got = await fetch("http://127.0.0.1:" + this.hook + "/webhooks/print", {
      method: "POST",
      headers: { "Content-Type": "application/json", "x-svc-venueid": venue, "x-svc-device-id": "T1" },
      body: JSON.stringify(body),
    });
    return got.status;
  }

  async order(number, ...items) {
    const record = {
      id: randomUUID(),
      orderNumber: String(number),
      retryCount: 0,
      checkId: "check-" + number,
      items: items.map((item) => ({
        id: randomUUID(), quantity: 1, childItems: [], ...(typeof item === "string" ? { name: item } : item),
      })),
    };
    let status; // 503: the disk is slow, and the service tries again
    await until("the webhook answers", async () => {
      status = await this.post({ status: "SUCCESS", count: 1, records: [record] });
      return status !== 503;
    });
    equal(status, 200, "the webhook");
  }
}

export async function fromTheWebhookToTheScreenAndToPaperWhenTheScreenIsDark(server, browser) {
  const d = await Daemon.open(server.dir);
  try {
    const page = await watch(await browser.newPage({ viewport: { width: 1280, height: 800 } }));
    await page.goto(d.url + "/screen/hot-line");
    await live(page);
    const start = Date.now();
    await d.order(18, "Burger", "Chips");
    await until("it is on the screen", async () => String(await heads(page)) === "#18");
    console.log("     webhook to screen: " + (Date.now() - start) + " ms");
    const states = () => JSON.parse(d.ask("jobs", "list", "--station", "hot-line", "--json")).map((j) => j.state);
    await until("it is shown", async () => String(states()) === "shown");
    await d.order(19, "Steak");
    await until("both are there", async () => String(await heads(page)) === "#18,#19");
    await until("both are shown", async () => String(states()) === "shown,shown");
    const pass = await watch(await browser.newPage());
    await pass.goto(d.url + "/screen/pass");
    await row(pass, "#18").waitFor();
    equal(await pass.$$eval(".told", (l) => l.map((e) => e.textContent)), ["HOT LINE 2", "HOT LINE 1"], "the parts");
    await pass.close();

    await page.keyboard.press("1");
    await page.keyboard.press("i");
    await page.keyboard.press("Enter");
    await until("the burger is done", async () => (await page.locator(".item.done").count()) === 1);

    await d.kill();
    await passes(page, SILENCE);
    await page.waitForSelector("body.notlive", { timeout: PATIENCE });
    await d.start();
    await live(page);
    equal(await heads(page), ["#18", "#19"], "the board after the power cut");
    equal(await page.locator(".item.done").count(), 1, "items done after it");
    equal(readFileSync(d.paper).length, 0, "bytes on paper so far");

    const pairing = await browser.newContext({ extraHTTPHeaders: { "X-Forwarded-For": "10.1.2.3" } });
    const far = await watch(await pairing.newPage());
    await far.goto(d.url + "/");
    d.ask("screens", "pair", await far.textContent("#code"), "--station", "hot-line");
    await live(far);
    equal(await heads(far), ["#18", "#19"], "the board of a paired screen");

    await pairing.close();
    await page.close();
    await d.order(20, "Soup");
    const printed = () => (existsSync(d.paper) ? readFileSync(d.paper, "latin1") : "");
    await until(
      "all three come out of the backup",
      async () => /Burger/i.test(printed()) && /Steak/i.test(printed()) && /Soup/i.test(printed()),
      2 * PATIENCE,
    );
    assert(/screen down/i.test(printed()), "the paper says why");
    const slip = /OPEN ORDERS.*done on the screen.*Chips.*Steak.*Soup/is;
    assert(slip.test(printed()) && printed().match(/OPEN ORDERS/gi).length === 1, "what it showed is not on one slip");
  } catch (e) {
    throw new Error(e.stack + "\n" + d.log);
  } finally {
    await d.kill();
  }
}

// withPass runs then(daemon, page, events) with two screens, a pass and a printer, and pages open at all screens.
// events are the outcomes that a program was told.
async function withPass(server, browser, then) {
  const events = [];
  const program = createServer((request, answer) => {
    let body = "";
    request.on("data", (b) => { body += b; });
    request.on("end", () => {
      events.push(JSON.parse(body));
      answer.end();
    });
  });
  await new Promise((done) => program.listen(0, "127.0.0.1", done));
  const secret = join(server.dir, "secret");
  writeFileSync(secret, "whsec_" + Buffer.from("only for a test, 24 byte").toString("base64"), { mode: 0o600 });
  const d = await Daemon.open(server.dir, `
printers: [ { name: grill, address: "file://PAPER" }, { name: bar, address: "file:///dev/null" } ]
screens: [ { name: hot-line }, { name: cold }, { name: pass, mode: pass, of: [hot-line, cold] } ]
routes: [ { when: item.name == "Flat white", to: [bar] }, { to: [hot-line, cold] } ]
outcomes: { url: "http://127.0.0.1:${program.address().port}/", secret_file: ${secret} }
`);
  try {
    const page = {};
    for (const station of ["hot-line", "cold", "pass"]) {
      page[station] = await watch(await browser.newPage());
      await page[station].goto(d.url + "/screen/" + station);
      await live(page[station]);
    }
    await then(d, page, events);
    for (const one of Object.values(page)) await one.close();
  } catch (e) {
    throw new Error(e.stack + "\n" + d.log);
  } finally {
    await d.kill();
    program.closeAllConnections();
    program.close();
  }
}

export async function anOrderIsToldToBeReadyWhenItsLastPartIsBumped(server, browser) {
  await withPass(server, browser, async (d, page, events) => {
    const ready = () => events.filter((e) => e.type === "order.ready");
    await d.order(18, "Burger");
    for (const station of ["hot-line", "cold"])
      await until("it is at " + station, async () => String(await heads(page[station])) === "#18");
    await press(page["hot-line"], "#18", ".act");
    const told = () => page.pass.$$eval(".told", (l) => l.map((e) => e.textContent));
    await until("the pass has the first part", async () => String(await told()) === "HOT LINE ✓,COLD 1");
    const at = Date.now();
    await press(page.cold, "#18", ".act");
    await until("the program is told", async () => ready().length);
    equal(ready().map((e) => e.data.number), ["18"], "the orders that are ready");
    assert(Date.parse(ready()[0].timestamp) >= at, "it was told before its last part was done");
    await until("the pass says it too", async () => String(await told()) === "HOT LINE ✓,COLD ✓");
  });
}

export async function whatAPrinterGotAndWasVoidedIsNotReadAtThePass(server, browser) {
  await withPass(server, browser, async (d, page) => {
    await d.order(19, "Steak", { name: "Flat white", quantity: 2 });
    await row(page.pass, "#19").locator(".number").click();
    await until("the bar has two", async () => String(await texts(page.pass, ".partline")) === "2 Flat white");
    await d.order(19, "Chips", { name: "Flat white", isVoid: true });
    await until("one is left", async () => String(await texts(page.pass, ".partline")) === "1 Flat white");
    assert(!/VOID/.test(await page.pass.innerText("#board")), "the void is still read");
  });
}
