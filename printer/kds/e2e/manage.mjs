// The page for managers, with the whole daemon behind it: what is wrong, and what a person without a shell does
// about it, on a phone.

import { PATIENCE, PHONE, assert, contrast, equal, fits, freePort, latinWords, until, watch } from "./harness.mjs";
import { Daemon } from "./daemon.mjs";
import net from "node:net";

// evening is a daemon with a printer that is switched off, one that breaks off each ticket, and one that works.
async function evening(dir, f) {
  const off = await freePort();
  const breaks = net.createServer((c) => c.on("error", () => {}).once("data", () => c.resetAndDestroy()));
  await new Promise((done) => breaks.listen(0, "127.0.0.1", done));
  const d = await Daemon.open(
    dir,
    `
printers:
  - { name: grill, address: "tcp://127.0.0.1:${off}" }
  - { name: bar, address: "tcp://127.0.0.1:${breaks.address().port}", on_doubt: hold, confirm: none }
  - { name: pass, address: "file://PAPER" }
screens: [ { name: hot-line, title: "Hot line" } ]
routes:
  - { when: 'item.name startsWith "Steak"', to: [grill] }
  - { when: 'item.name startsWith "Beer"', to: [bar] }
  - { to: [pass] }
`,
  );
  try {
    await f(d);
  } catch (e) {
    throw new Error(e.stack + "\n" + d.log);
  } finally {
    await d.kill();
    breaks.close();
  }
}

const jobs = (d) => JSON.parse(d.ask("jobs", "list", "--json"));
const states = (d, station) =>
  jobs(d)
    .filter((j) => j.station === station)
    .map((j) => j.state + (j.reprint ? " reprint" : ""))
    .sort()
    .join();

const ticketCard = (page, number) => page.locator("#held > li, #waiting > li", { hasText: "#" + number });

export async function aManagerMendsAnEveningOnAPhone(server, browser) {
  await evening(server.dir, async (d) => {
    await d.order(1, "Steak");
    await d.order(2, "Steak", "Soup");
    await d.order(3, "Beer");
    const page = await watch(await (await browser.newContext(PHONE)).newPage());
    await page.goto(d.url + "/");
    await page.waitForSelector("#held .paper", { timeout: PATIENCE });
    assert((await page.textContent("#held .paper")).includes("Beer"), "the paper of the held ticket is not shown");
    const [clock] = /\d\d:\d\d/.exec(await page.textContent("#held .cardhead"));
    assert((await page.textContent("#held .paper")).includes(clock), "the clock is not that of the kitchen: " + clock);
    await until("all is drawn", async () => (await page.locator("#waiting > li").count()) === 2);
    await fits(page, "phone-evening");

    // What a page shows may be old: this one gets no news.
    const old = await watch(await browser.newPage());
    await old.goto(d.url + "/");
    await old.waitForSelector("#held button");
    await old.route("**/manage/api/state", (r) => r.abort());

    const doubtful = await watch(await browser.newPage());
    await doubtful.route("**/manage/api/state", async (r) => {
      const response = await r.fetch();
      const json = await response.json();
      for (const t of json.tickets) t.doubt = true;
      await r.fulfill({ response, json });
    });
    await doubtful.goto(d.url + "/");
    await doubtful.getByText("prints marked POSSIBLE DUPLICATE").first().waitFor();
    equal(await doubtful.locator("#held").getByText("Ask in the kitchen").count(), 1, "held tickets in doubt");
    await doubtful.close();

    await until("the soup is printed", () => states(d, "pass") === "sent");
    const again = ticketCard(page, 3).getByRole("button", { name: "Print again at" });
    await ticketCard(page, 3).getByLabel("Print #3 at").selectOption("pass");
    await again.evaluate((b) => [1, 2].forEach(() => b.click())); // a double tap
    equal(states(d, "pass"), "sent", "after one tap");
    await ticketCard(page, 3)
      .getByRole("button", { name: "Yes, print at pass", disabled: false })
      .evaluate((b) => [1, 2, 3].forEach(() => b.click()));
    await until("it is printed", () => states(d, "pass") === "sent,sent reprint");
    equal(states(d, "bar"), "cancelled", "the held one");

    for (const name of ["Print again at", "Cancel it"]) {
      await ticketCard(old, 3).getByRole("button", { name }).click();
      await ticketCard(old, 3).getByRole("button", { name: "Yes" }).click();
      await old.waitForSelector("#said.failed");
      assert(/job \d+/.test(await old.textContent("#said")), "it does not say why not");
    }
    equal(states(d, "pass"), "sent,sent reprint", "after the old page");

    await ticketCard(page, 2).getByRole("button", { name: "Cancel it" }).tap();
    await ticketCard(page, 2).getByRole("button", { name: "Yes, nobody cooks it" }).tap();
    await until("it is cancelled", () => states(d, "grill").includes("cancelled"));
    const grill = page.locator("#problems > li", { hasText: "grill" });
    await grill.getByLabel("Move the tickets of grill to").selectOption("pass");
    await grill.getByRole("button", { name: "Move its 1 ticket to" }).tap();
    await grill.getByRole("button", { name: "Yes, move to pass" }).tap();
    await until("it is printed", () => states(d, "pass") === "sent,sent,sent reprint");

    await d.post({ status: "SUCCESS", records: [{ id: "x" }] });
    await page.getByText("See below why").tap();
    await page.locator("#rejects").getByText("It was not printed").waitFor();
    assert((await page.textContent("#rejects > li")).includes("records[0].items"), "it does not say why");
    await page.getByRole("button", { name: "Print it late" }).tap();
    await page.getByRole("button", { name: "Yes, it was not taken again" }).tap();
    await page.getByText("still cannot be read").waitFor();
    page.wrong = []; // the console names the refusal
    await page.getByRole("button", { name: "Print it late" }).waitFor(); // it asks no more, when its request is over
    await page.getByRole("button", { name: "Print it leniently" }).tap();
    await page.getByRole("button", { name: "Yes, it was not taken again" }).tap();
    await page.locator("#rejects").getByText("Printed ").waitFor();
    await until("it is printed late", () => states(d, "grill").endsWith("sent") || states(d, "pass").includes("sent"));

    d.ask("printers", "hold", "pass", "--reason", "clean it");
    const pass = page.locator("#problems > li", { hasText: "clean it" });
    await pass.getByRole("button", { name: "Let it print again" }).tap();
    await pass.getByRole("button", { name: "Yes, print now" }).tap();
    await pass.waitFor({ state: "detached" });
    for (const action of ["reprint", "cancel", "move", "resume", 'print refused request"'])
      assert(new RegExp(action + " actor=.a browser on this computer").test(d.log), "the log lacks " + action);
    old.wrong = []; // it got no news
  });
}

export async function aCorrectionThatPrintedIsNotSaidToBeLost(server, browser) {
  await evening(server.dir, async (d) => {
    const soup = { id: "soup", name: "Soup", quantity: 1 };
    for (const quantity of [1, 2])
      await d.post({ status: "SUCCESS", count: 1, records: [{ id: "order-5", orderNumber: "5", retryCount: 0,
        items: [{ ...soup, quantity }] }] });
    await until("both are printed", () => states(d, "pass") === "sent,sent");
    const page = await watch(await browser.newPage());
    await page.goto(d.url + "/");
    await until("both are listed", async () => (await page.locator("#printed > li").count()) === 2);
    const corrected = page.locator("#rejects > li", { hasText: "the id was used before" });
    await corrected.getByText(/^Printed \d\d:\d\d/).waitFor();
    assert(!/not printed|None of these/.test(await page.innerText("#refused")), "it says that it was not printed");
  });
}

export async function onlyAManagerSeesThePageForManagers(server, browser) {
  await evening(server.dir, async (d) => {
    d.ask("printers", "hold", "grill", "--reason", "no attempt changes the ticket meanwhile");
    await d.order(1, "Steak");
    const elsewhere = { extraHTTPHeaders: { "X-Forwarded-For": "10.1.2.3" } };
    const far = async () => (await browser.newContext(elsewhere)).newPage();
    const status = (page, path, body) =>
      page.evaluate(
        async ([path, body]) => {
          const headers = { "Content-Type": "application/json" };
          return (await fetch("/manage/api" + path, body && { method: "POST", body, headers })).status;
        },
        [path, body],
      );
    const cancel = ["/jobs/1/cancel", '{"version":"pending.0.0"}'];
    const tablet = await far();
    await tablet.goto(d.url + "/");
    equal([await status(tablet, "/state"), await status(tablet, ...cancel)], [401, 401], "an unpaired browser");
    d.ask("screens", "pair", await tablet.textContent("#code"), "--station", "hot-line");
    await tablet.waitForURL("**/screen/hot-line");
    equal([await status(tablet, "/state"), await status(tablet, ...cancel)], [403, 403], "a tablet of the kitchen");
    await tablet.goto(d.url + "/");
    assert(tablet.url().endsWith("/screen/hot-line"), "its start page is " + tablet.url());

    const evil = await browser.newPage();
    await evil.route("http://evil.example/", (r) => r.fulfill({ contentType: "text/html", body: "<h1>hello</h1>" }));
    await evil.goto("http://evil.example/");
    await evil.evaluate(
      ([url, body]) => fetch(url, { method: "POST", mode: "no-cors", body }).catch(() => 0),
      [d.url + "/manage/api" + cancel[0], cancel[1]],
    );
    equal(states(d, "grill"), "pending", "after all of them");

    const manager = await far();
    await manager.goto(d.url + "/");
    d.ask("screens", "pair", "--manager", await manager.textContent("#code"));
    await manager.waitForSelector("#problems > li");
    const v = (await manager.evaluate(async () => (await fetch("/manage/api/state")).json())).tickets[0].version;
    equal(await status(manager, cancel[0], JSON.stringify({ version: v })), 200, "a manager");
    equal(states(d, "grill"), "cancelled", "after the manager");
    assert(/cancel actor=.pairing \w+/.test(d.log), "the log does not say who");
  });
}

// crafted is a state of a daemon with n tickets that are held, all of them with the text of others.
function crafted(n, text) {
  const at = new Date().toISOString();
  const wrong = [
    { level: "fail", subject: text, station: true, text, do: text },
    { level: "warn", subject: "disk", text, do: text },
  ];
  const station = { since: at, configured: true, pending: n, printing: 0, held: n };
  const ticket = (i, state) => ({
    id: i, order: text + " " + i, version: "v", state, station: text, reason: text, received_at: at, doubt: i % 2 > 0,
  });
  return {
    at, zone: "Australia/Melbourne", more: n ? 240 : 0,
    findings: [
      ...(n ? wrong : []),
      { level: "ok", subject: "orders", text: "40 orders in the last hour; the last 1m ago" },
    ],
    stations: [
      { ...station, name: text, state: n ? "down" : "up" },
      { ...station, name: "bar", state: "up", pending: 0, held: 0 },
    ],
    tickets: Array.from({ length: n }, (_, i) => ticket(i + 1, i < n / 2 ? "held" : "pending")),
    printed: n ? [ticket(n + 1, "sent")] : [],
    rejects: n ? [{ id: 1, time: at, message: text, venue: text, device: text, address: "10.0.0.1" }] : [],
  };
}

export async function eachCardOfAStationHasItsOwnAdvice(server, browser) {
  const state = crafted(2, "grill");
  const wrong = { level: "fail", subject: "grill", station: true };
  state.findings = [
    { ...wrong, text: "held", do: "ticketrail printers resume grill" },
    { ...wrong, text: "paper out", do: "put in a new roll" },
    { ...wrong, text: "another program prints there", do: "give that program a printer of its own" },
    { ...wrong, text: "2 tickets wait for your decision", do: "ticketrail jobs list --state held" },
    { ...wrong, subject: "hot-line", text: "nobody is looking", do: "open http://box/screen/hot-line" },
    { ...wrong, subject: "bar", text: "no longer in the configuration", do: "add it again, or ticketrail jobs move" },
  ];
  const [grill, bar] = state.stations;
  Object.assign(grill, { state: "held", advice: "the advice of its first finding", hold: { since: state.at } });
  bar.state = "orphan";
  state.stations.push({ ...grill, name: "hot-line", kind: "screen", state: "down", hold: null });
  const page = await watch(await browser.newPage());
  await page.route("**/manage/api/**", (r) =>
    r.fulfill({ json: r.request().url().endsWith("/state") ? state : { columns: 48, lines: [] } }),
  );
  await page.goto(server.url + "/");
  await page.waitForSelector("#problems > li");
  equal(await page.locator("#problems > li .do").allInnerTexts(), [
    "Let it print again when it is ready.",
    "Put in a new roll",
    "Give that program a printer of its own",
    "Decide below what becomes of them",
    "Open its page on its tablet. A new tablet is paired below",
    "Move its tickets to another station.",
  ], "the advice");
}

export async function thePageForManagersHoldsWhateverComes(server, browser) {
  const hostile = "<img src=x onerror=alert(1)></script><script>alert(1)</script>" + "Unterdonaudampfschiff".repeat(4);
  const line = { height: 2, spans: [{ text: hostile.slice(0, 24), columns: 24, width: 2, height: 2, invert: true }] };
  for (const [what, state, options] of [
    ["phone-hostile", crafted(3, hostile), PHONE],
    ["desktop-hostile", crafted(3, hostile), { colorScheme: "dark" }],
    ["desktop-many", crafted(60, "Grill at the terrace"), { colorScheme: "light" }],
    ["phone-well", crafted(0, "grill"), { ...PHONE, colorScheme: "dark" }],
  ]) {
    const page = await watch(await (await browser.newContext(options)).newPage());
    page.on("dialog", (dialog) => page.wrong.push("a dialog: " + dialog.message()));
    let silent = false;
    await page.route("**/manage/api/**", (r) =>
      silent
        ? r.abort()
        : r.fulfill({ json: r.request().url().endsWith("/state") ? state : { columns: 48, lines: [line, line] } }),
    );
    await page.clock.install();
    await page.goto(server.url + "/");
    await page.waitForSelector("#fine > li");
    if (state.tickets.length) await page.waitForSelector(".paper");
    equal(await page.locator("main img, main script").count(), 0, "elements made of text");
    equal(await page.locator("#held > li").count(), Math.ceil(state.tickets.length / 2), "tickets held");
    await fits(page, what);
    silent = true;
    await page.clock.runFor(20000);
    await page.waitForSelector("#notlive:has-text('NOT LIVE since')");
    assert((await contrast(page.locator("#notlive"))) >= 7, "NOT LIVE is hard to read: " + what);
    await fits(page, what + "-notlive");
    equal(page.wrong.filter((w) => !/ERR_FAILED/.test(w)), [], "errors on the console");
    await page.context().close();
  }
}

export async function thePageForManagersIsInTheLanguageOfTheVenue(server, browser) {
  const printer = { name: "魚", address: "1", profile: "2" };
  const settings = {
    version: "1", profiles: ["2"], printers: [printer], venues: [{ name: "海", hours: [] }],
    recipients: [{ name: "王", by: "3", about: ["4"] }, { name: "李", by: "3", about: [] }],
  };
  const state = crafted(6, "魚");
  const [one] = state.tickets;
  const states = ["failed", "printing", "shown", "taken", "expired"];
  const more = { ...one, order: "", received_at: "2026-01-01" };
  state.tickets.push(...states.map((is, i) => ({ ...more, id: 10 + i, state: is })));
  state.tickets[6].kind = "slip";
  state.tickets[7].kind = "test";
  state.printed[0].reprint = true;
  state.stations[1].name = "茶";
  for (const [i, is] of ["up", "unknown", "held", "orphan"].entries())
    state.stations.push({ ...state.stations[0], name: "魚" + i, state: is, stand_in: "9" });
  state.findings = [
    ...state.stations.map((s) => ({ level: "fail", subject: s.name, station: true, text: "1" })),
    { level: "warn", subject: "4", text: "2", do: "ticketrail printers resume 4" },
    { level: "warn", subject: "2", text: "2", do: "ticketrail rejects" },
    { level: "ok", subject: "3", text: "3" },
  ];
  Object.assign(state.rejects[0], { size: 1, count: 3 });
  state.rejects.push({ ...state.rejects[0], id: 2, printed: state.at });
  const daemon = await Daemon.open(server.dir, `
printers: [ { name: "7", address: "file://PAPER" } ]
fallback: "7"
screens: [ { name: "8", title: 魚 }, { name: "9", title: 肉, mode: pass, of: ["8"] } ]
routes: [ { to: ["7"] } ]
`, "zh");
  try {
    const page = await watch(await (await browser.newContext(PHONE)).newPage());
    await page.route("**/manage/api/**", (r) => {
      const path = new URL(r.request().url()).pathname;
      const answers = { settings, state, found: [{ address: "5", model: "6", state: "7" }] };
      return r.fulfill({ json: answers[path.split("/").pop()] || { columns: 48, lines: [] } });
    });
    await page.goto(daemon.url + "/");
    await page.locator("#settings summary").click();
    await page.locator("#find button").click();
    await page.locator("#setprinters select[aria-label]").waitFor();
    await page.evaluate(() => document.querySelectorAll("main li details").forEach((e) => (e.open = true)));
    equal(await latinWords(page), null, "Latin words");
    await fits(page, "phone-zh");
    await page.evaluate(() => document.querySelectorAll("li .acts button, #pair button").forEach((e) => e.click()));
    await page.waitForSelector("#held .sure");
    equal(await latinWords(page), null, "Latin words of buttons that ask");
  } catch (e) {
    throw new Error(e.stack + "\n" + daemon.log);
  } finally {
    await daemon.kill();
  }
}
