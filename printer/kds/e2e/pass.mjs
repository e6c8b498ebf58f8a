// The pass: orders in rows, what is known of each part of them, and what is told when they are ready.

import {
  assert, card, equal, heads, open, press, row, rows, texts, until,
} from "./harness.mjs";
import { cannedOrder as order } from "./canned.mjs";
import { atThePass, evening } from "./evening.mjs";

const pressIn = (page, name, what) => row(page, name).locator(what).first().evaluate((b) => b.click());

export async function thePassHasARowForEachOrderAndTheReadyOnesFirst(server, browser) {
  Object.assign(server.setup, { pass: true, name: "pass" });
  server.orders = evening(52).map(atThePass);
  for (const [width, height, least] of [[1024, 600, 12], [1280, 800, 12], [1920, 1080, 25]]) {
    const page = await open(browser, server, "pass", { viewport: { width, height }, settings: { size: "m" } });
    const seen = await rows(page);
    assert(seen.length >= least, width + ": only " + seen.length + " rows");
    equal(seen.slice(0, 11), server.orders.filter((o) => o.ready).map((o) => o.number), "the ready ones");
    const all = new Set(seen);
    while (!(await page.isDisabled("#next"))) {
      await page.keyboard.press("PageDown");
      for (const name of await rows(page)) all.add(name);
    }
    equal(all.size, 52, "orders that can be read in whole at " + width);
    assert(!/cannot know|confirmed|call somebody/.test(await page.innerText("#board")), "a row has prose");
    await page.context().close();
  }
}

export async function aRowSaysInAWordHowFarEachPartIs(server, browser) {
  Object.assign(server.setup, { pass: true, name: "pass", title: "Pass" });
  const part = (station, kind, state, told, more) => ({ station, title: station, kind, state, told, ...more });
  const lines = [{ text: "1 Negroni" }, { text: "2 Flat white", void: true }, { void: true }];
  const parts = [
    part("hot", "screen", "done", "bumped", { clock: "19:41" }),
    part("cold", "screen", "open", "open", { left: 2 }),
    part("bar", "paper", "out", "sent", { clock: "19:42", at: "cellar", lines }),
    part("grill", "paper", "held", "failed", { why: "no paper" }),
    part("fry", "paper", "expired", "expired"),
    part("pastry", "paper", "gone", "confirmed", { clock: "19:43", void: true }),
  ];
  server.orders = [order(1, ["Steak"], { parts, alarms: [{ text: "NUT ALLERGY", job: 1, item: 0 }], age: 900 })];
  const page = await open(browser, server, "pass");
  const told = () => page.$$eval(".told", (l) => l.map((e) => e.textContent));
  const chips = ["HOT ✓", "COLD 2", "BAR paper ☐", "GRILL HELD", "FRY EXPIRED ☐", "PASTRY cancelled"];
  equal(await told(), chips, "the parts");
  assert(/ALLERGY/.test(await row(page, "#1").innerText()), "the allergy has no mark");
  equal(await row(page, "#1").locator(".word").textContent(), "LATE", "its age");
  equal(await row(page, "#1").locator(".tick").count(), 2, "only what cannot say so itself is ticked by hand");

  await pressIn(page, "#1", ".tick");
  await until("it is ticked", async () => (await told())[2] === "BAR ✓");
  equal(server.posts.filter((p) => p.path === "/do").map((p) => p.body.part), ["bar"], "the part");

  await row(page, "#1").locator(".number").click();
  await until("it is open", async () => String(await heads(page)) === "#1");
  equal(
    await texts(page, ".says"),
    [
      "hot: ✓ 19:41", "cold: 2 left", "bar: on paper, sent 19:42, at cellar", "grill: FAILED, call somebody, no paper",
      "fry: expired, not printed, call somebody", "pastry: VOID, on paper, confirmed 19:43",
    ],
    "the whole parts",
  );
  const whole = await card(page, "#1").innerText();
  assert(/1 Negroni\s+VOID 2 Flat white\s+VOID all of it/.test(whole), "what the bar got: " + whole);
  assert(whole.includes("NUT ALLERGY"), "the allergy: " + whole);
  equal(await card(page, "#1").locator(".act").textContent(), "Not ready", "the button");
  await page.keyboard.press("Enter");
  equal(server.commands(), ["tick k1"], "one press sends nothing out");
  await page.keyboard.press("Escape");
  server.put({ ...server.orders[0], version: 9, ready: true });
  await pressIn(page, "#1", ".act");
  await until("it goes out", async () => (await rows(page)).length === 0);
  equal(server.commands(), ["tick k1", "bump k1"], "commands");
}

export async function aRowSaysVoidOnlyOfACancellation(server, browser) {
  Object.assign(server.setup, { pass: true, name: "pass" });
  const voids = [{ job: 91, clock: "19:41", changed: true }];
  const both = [{ job: 92, clock: "19:42", lines: ["1 Ale"] }, ...voids];
  const page = await open(browser, server, "pass");
  for (const [o, name, band, told] of [
    [order(1, ["Fish"], { voids }), "#1", "CHANGED", "Changed: #1"],
    [order(2, ["Pie"], { voids: both }), "#2", "VOID", "Void: #2"],
  ]) {
    server.put(o);
    await until("it is announced", async () => (await page.textContent("#announce-now")).startsWith(told));
    equal(await row(page, name).locator(".voided").textContent(), band, "the mark of " + name);
  }
}

export async function anOrderThatIsCancelledIsPutAwayFromThePassWithOnePress(server, browser) {
  Object.assign(server.setup, { pass: true, name: "pass" });
  const parts = [{ station: "hot-line", kind: "screen", state: "gone", told: "voided" }];
  server.orders = [order(1, [{ name: "Steak", void: true }], { parts, cancelled: true }), order(2, ["Pie"], { parts })];
  const page = await open(browser, server, "pass");
  assert(/CANCELLED/.test(await row(page, "#1").innerText()), "the row does not say so");
  await row(page, "#1").locator(".number").click();
  equal(await texts(page, ".act"), ["Cancelled: put away"], "the button");
  await press(page, "#1", ".act");
  await until("it is put away", async () => String(await rows(page)) === "#2");
  equal(server.commands(), ["bump k1"], "commands");
}

export async function aSecondTapDoesNothingToTheRowThatSlidUnderTheFinger(server, browser) {
  Object.assign(server.setup, { pass: true, name: "pass" });
  server.orders = [order(1, ["Pie"], { ready: true, age: 90 }), order(2, ["Pie"], { ready: true })];
  const page = await open(browser, server, "pass");
  const at = (ms) =>
    page.evaluate((ms) => {
      window.began = window.began || performance.now();
      performance.now = () => window.began + ms;
    }, ms);
  await at(5000);
  const { x, y } = await row(page, "#1").locator(".act").boundingBox();
  await page.mouse.click(x + 9, y + 9);
  await until("it is sent out", async () => String(await rows(page)) === "#2");
  await at(5590);
  await page.mouse.click(x + 9, y + 9);
  await at(5610);
  await page.mouse.click(x + 9, y + 9);
  await until("the next", async () => (await rows(page)).length === 0);
  equal(server.commands(), ["bump k1", "bump k2"], "commands");
}

export async function atDoubleZoomThePassHasFewPages(server, browser) {
  Object.assign(server.setup, { pass: true, name: "pass" });
  server.orders = evening(52).map(atThePass);
  const page = await open(browser, server, "pass", { viewport: { width: 640, height: 400 }, deviceScaleFactor: 2 });
  const pages = Number((await page.textContent("#pagenumber")).split("/ ")[1]);
  assert(pages > 1 && pages <= 26, pages + " pages");
}
