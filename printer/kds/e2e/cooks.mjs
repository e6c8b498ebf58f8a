// What cooks do with a page, and what it posts, says and plays.

import {
  PATIENCE, SCREENS, SILENCE, assert, card, change, chip, clipped, contrast, equal, heads, live, open, passes, press,
  until,
} from "./harness.mjs";
import { bowl, cannedOrder as order } from "./canned.mjs";
import { evening } from "./evening.mjs";

const played = (page) => page.getAttribute("html", "data-played");

export async function aVoidIsReadBeforeTheOrderIsBumped(server, browser) {
  const struck = { name: "Fish", void: true };
  server.orders = [
    order(1, [struck, "Chips"], {
      must_ack_void: true,
      voids: [
        {
          job: 90, at: 1, clock: "19:40", lines: ["1 Fish"], bumped_clock: "15:05",
        },
      ],
    }),
    order(2, [], {
      must_ack_void: true,
      voids: [{ job: 91, at: 1, clock: "19:41", changed: true }],
    }),
  ];
  const page = await open(browser, server, "hot-line");
  const first = card(page, "#1");
  const line = await first.locator("s").evaluate((s) => getComputedStyle(s).textDecorationLine);
  equal(line, "line-through", "it is struck");
  assert(/VOID/.test(await first.locator(".line.void").textContent()), "it says VOID");
  equal(await first.locator(".line.void").evaluate((l) => l.closest("button.item")), null, "it cannot be ticked");
  const band = await first.locator(".voided").first().textContent();
  for (const part of ["VOID 19:40", "1 Fish", "you bumped this at 15:05"])
    assert(band.includes(part), part + " is missing in: " + band);
  assert(/CHANGED 19:41/.test(await card(page, "#2").textContent()), "it does not say that it has changed");
  equal(await card(page, "#2").locator(".act").textContent(), "Acknowledge CHANGE", "the button of a change");
  assert((await first.getAttribute("class")).includes("voiding"), "the edge is hatched");
  equal(await first.locator(".act").textContent(), "Acknowledge VOID", "the button");
  await page.keyboard.press("1");
  await page.keyboard.press("Enter");
  await until("it is read", async () => (await first.locator(".act").textContent()) === "Bump");
  equal(server.commands(), ["ack_void k1"], "commands");
  equal(await first.locator("s").count(), 1, "it stays struck");
  await page.click("#undo");
  await until("undone", () => server.commands().includes("undo k1"));
}

export async function aWorkingTapOnACardIsNeverCoveredByUndo(server, browser) {
  server.orders = evening(20);
  for (const [width, height] of SCREENS) {
    const page = await open(browser, server, "hot-line", { viewport: { width, height } });
    await page.keyboard.press("1");
    await page.keyboard.press("Enter");
    await page.waitForSelector("#undo:not(:disabled)");
    // The orders that move up after the bump are laid out with the next frame.
    const covered = () => page.$$eval(".column:not(.measure) .act, .column:not(.measure) button.item", (list) =>
      list.filter((b) => {
        const r = b.getBoundingClientRect();
        const at = (x, y) => b.contains(document.elementFromPoint(x, y));
        return ![r.left + 3, r.left + r.width / 2, r.right - 3].every((x) => at(x, r.top + 3) && at(x, r.bottom - 3));
      }).length,
    );
    await until("no button is covered at " + width, async () => (await covered()) === 0);
    await page.keyboard.press("u");
    await until("it is back", () => server.orders.length === 20);
    await page.context().close();
  }
}

export async function newsOfOtherPagesIsHeardAndATapGoesThere(server, browser) {
  server.orders = Array.from({ length: 30 }, (_, i) => order(i + 1, ["Burger", "Chips", "Salad"]));
  const page = await open(browser, server, "hot-line", { viewport: { width: 1024, height: 600 } });
  const voids = [{ job: 991, clock: "19:40", how: "request" }];
  server.put({ ...server.orders[29], version: 2, voids });
  await chip(page, "void").waitFor();
  await until("the sound of a void", async () => (await played(page)) === "void");
  assert((await chip(page, "void").textContent()).includes("#30"), "the chip names the order");
  await chip(page, "void").click();
  await until("a tap goes there", async () => (await heads(page)).includes("#30"));
  equal(await page.locator(".card.selected .number").first().textContent(), "#30", "what is selected");
  equal(await chip(page, "void").count(), 0, "it is visible now");
}

export async function soundsAreRepeatedUntilSomebodyAnswers(server, browser) {
  server.setup.repeat = 1;
  server.orders = [order(1)];
  const page = await open(browser, server, "hot-line");
  const clear = () => page.evaluate(() => document.documentElement.removeAttribute("data-played"));
  server.put(order(2));
  await until("it is heard", async () => (await played(page)) === "new");
  await clear();
  await until("and again", async () => (await played(page)) === "new");
  await chip(page, "new").click();
  await clear();
  server.put(order(3, ["Nuts"], { must_ack_alarm: true, alarms: [{ text: "NUT ALLERGY", job: 1, item: 0 }] }));
  await until("an allergy is heard", async () => (await played(page)) === "new" || (await played(page)) === "allergy");
  await page.keyboard.press("3");
  await clear();
  await until("until it is acknowledged", async () => (await played(page)) === "allergy");
  equal(await card(page, "#3").locator(".act").textContent(), "Acknowledge ALLERGY", "the button");
  await page.keyboard.press("v");
  await until("it is", async () => (await card(page, "#3").locator(".act").textContent()) === "Bump");
  equal(server.commands(), ["ack_alarm k3"], "commands");
}

export async function aSecondTapAfterABumpDoesNothingToTheCardThatSlidUnderTheFinger(server, browser) {
  server.orders = [order(1), order(2)];
  const page = await open(browser, server, "hot-line");
  const at = (ms) =>
    page.evaluate((ms) => {
      window.began = window.began || performance.now();
      performance.now = () => window.began + ms;
    }, ms);
  const { x, y } = await card(page, "#1").locator(".head").boundingBox();
  await at(0);
  await card(page, "#1").locator(".act").click();
  await until("it is bumped", async () => String(await heads(page)) === "#2");
  await at(590);
  await page.mouse.click(x + 20, y + 20);
  equal(await page.locator(".panel").count(), 0, "panels that a tap opened too early");
  await at(610);
  await page.mouse.click(x + 20, y + 20);
  equal(await page.locator(".panel").count(), 1, "panels that a tap opened");
}

export async function aPageWhosePostsFailIsNotLive(server, browser) {
  server.orders = [order(1)];
  const page = await open(browser, server, "hot-line");
  page.wrong = [];
  server.refuse.add("/shown");
  await page.waitForSelector("body.notlive", { timeout: PATIENCE });
  assert(/does not hear this screen/.test(await page.innerText("#cover")), "it does not say why");
  equal(await page.textContent("#live"), "NOT LIVE", "the state");
  server.refuse.delete("/shown");
  await live(page);
  assert(!(await page.isVisible("#cover")), "the cover stays");

  server.refuse.add("/shown");
  await passes(page, SILENCE);
  await page.waitForSelector("body.notlive.usable", { timeout: PATIENCE });
  await server.kill(); // no order arrives any more, and the page says so
  await passes(page, SILENCE);
  await page.waitForSelector("body.notlive:not(.usable)", { timeout: PATIENCE });
  assert(/No connection/.test(await page.innerText("#cover")), "it says why it is not live now");
  page.wrong = []; // the answers that were refused
}

export async function whatWentToPaperInTheDarkCanBeRecalled(server, browser) {
  const ticket = { state: "elsewhere", paper: "grill" };
  const paper = { state: "elsewhere", departure: 5, departed_at: Date.now(), ticket };
  server.recall = [order(1, ["Soup"], paper)];
  const page = await open(browser, server, "hot-line");
  await page.keyboard.press("Shift+R");
  const row = page.locator("dialog button.row");
  assert(/on paper at grill/.test(await row.textContent()), "where it went");
  await row.click();
  await until("it is on the board", async () => String(await heads(page)) === "#1");
  equal(server.commands(), ["recall k1"], "commands");
}

export async function theBarSaysWhatNobodyHasPagedTo(server, browser) {
  server.orders = Array.from({ length: 30 }, (_, i) =>
    order(i + 1, ["Burger", "Chips", "Salad"], { age: 60, ticket: { seen: i < 27 ? 1 : 0 } }),
  );
  const page = await open(browser, server, "hot-line");
  await chip(page, "unseen").waitFor();
  equal(await chip(page, "unseen").textContent(), "3 tickets nobody has paged to", "the bar");
  await chip(page, "unseen").click();
  await until("it goes there", async () => (await heads(page)).includes("#28"));
}

export async function ticketsThatCanBeSeenArePostedWithEveryPageTurn(server, browser) {
  server.orders = Array.from({ length: 30 }, (_, i) => order(i + 1, ["Burger", "Chips", "Salad"]));
  const page = await open(browser, server, "hot-line");
  const visible = () => {
    const said = server.posts.filter((p) => p.path === "/shown").pop();
    return (said ? said.body.visible : []).map((j) => server.orders.find((o) => o.tickets[0].job === j).number);
  };
  const seen = () => page.$$eval(".column:not(.measure) .number", (l) => [...new Set(l.map((e) => e.textContent))]);
  for (let n = 0; n < 3; n++) {
    const want = String(await seen());
    await until("page " + n + " is posted", () => String(visible()) === want);
    await page.keyboard.press("PageDown");
  }
  await change(page, { allday: "screen" });
  await until("nothing can be seen", () => visible().length === 0);
}

export async function detailsAndTheTimelineOpenByTouchAndByKeyboard(server, browser) {
  server.orders = [order(1), order(2)];
  server.events = [
    { at: 1, clock: "19:30", what: "accepted" },
    { at: 2, clock: "19:31", what: "seen", station: "hot-line", visible: 9 },
  ];
  const page = await open(browser, server, "hot-line", { hasTouch: true });
  const read = async () => {
    await page.waitForSelector(".timeline li >> nth=1");
    const text = (await page.innerText("dialog.details")).replace(/\s+/g, " ");
    for (const part of ["19:31 first seen on hot-line", "Ann", "Harbour Grill", "…9f2a"])
      assert(text.includes(part), part + " is missing in: " + text);
    await page.keyboard.press("Escape");
    equal(await page.locator("dialog").count(), 0, "open panels");
  };
  await press(page, "#2", ".head");
  await read();
  await page.keyboard.press("1");
  await page.keyboard.press("d");
  await read();
}

export async function everyCardOfAPageHasAKey(server, browser) {
  server.orders = Array.from({ length: 60 }, (_, i) => order(i + 1));
  const viewport = { width: 1920, height: 1080 };
  const page = await open(browser, server, "hot-line", { viewport, settings: { size: "s" } });
  const on = await page.$$eval(".column:not(.measure) .card", (l) =>
    l.map((c) => [c.querySelector(".hint").textContent, c.querySelector(".number").textContent]),
  );
  const byKey = new Map(on);
  assert(byKey.size > 27 && byKey.size === new Set(on.map((p) => p[1])).size, byKey.size + " keys for " + on.length);
  for (const [hint, number] of byKey) {
    await page.keyboard.press(hint.toLowerCase().replace("⇧", "Shift+").replace("⌥", "Alt+"));
    equal(await page.locator(".card.selected .number").first().textContent(), number, "key " + hint);
  }
}

export async function aSwipeTurnsThePage(server, browser) {
  server.orders = Array.from({ length: 60 }, (_, i) => order(i + 1));
  const page = await open(browser, server, "hot-line", { hasTouch: true });
  const touch = await page.context().newCDPSession(page);
  const swipe = async (from, to) => {
    const at = (x) => ({ touchPoints: [{ x, y: 300 }] });
    await touch.send("Input.dispatchTouchEvent", { type: "touchStart", ...at(from) });
    await touch.send("Input.dispatchTouchEvent", { type: "touchMove", ...at((from + to) / 2) });
    await touch.send("Input.dispatchTouchEvent", { type: "touchMove", ...at(to) });
    await touch.send("Input.dispatchTouchEvent", { type: "touchEnd", touchPoints: [] });
  };
  await swipe(900, 300);
  await until("to the next", async () => /^2 /.test(await page.textContent("#pagenumber")));
  await swipe(300, 900);
  await until("and back", async () => /^1 /.test(await page.textContent("#pagenumber")));
  equal(server.commands(), [], "commands");
}

export async function aPhoneShowsAListAndOneOrderAtATap(server, browser) {
  server.orders = [bowl(1), order(2, ["Fish", "Chips"]), order(3, [], { must_ack_void: true, voids: [{ job: 9 }] })];
  const page = await open(browser, server, "hot-line", { viewport: { width: 390, height: 844 }, hasTouch: true });
  const rows = await page.$$eval("#board.list .row", (l) => l.map((r) => r.innerText.replace(/\s+/g, " ")));
  equal(rows.length, 3, "rows");
  assert(/#1 B1 ⚠ ALLERGY 22 left/.test(rows[0]) && /#3 B3 VOID/.test(rows[2]), "the rows are " + rows);
  await page.tap("#board .row >> nth=1");
  await until("it is open", async () => String(await heads(page)) === "#2");
  await until("only it can be seen", () => {
    const said = server.posts.filter((p) => p.path === "/shown").pop();
    return String(said.body.visible) === String(server.orders[1].tickets[0].job);
  });
  await page.keyboard.press("Enter");
  await until("it is bumped, and the list is back", async () => (await page.locator("#board.list .row").count()) === 2);
  equal(server.commands(), ["bump k2"], "commands");
  await page.locator("#board .row >> nth=0").evaluate((row) => row.click()); // a finger is ignored for a moment
  equal(await clipped(page), [], "what is cut off");
  await page.tap("#back");
  await page.waitForSelector("#board.list .row");
}

export async function theAllDayCountsAreAPanelAStripOrTheScreen(server, browser) {
  server.orders = [order(1), order(2)];
  server.counts = [
    { name: "Burger", quantity: "12", orders: 9, variants: [{ quantity: "3", modifiers: ["no onions"], orders: 2 }] },
    ...Array.from({ length: 24 }, (_, i) => ({ name: "Dish " + i, quantity: "2", orders: 1, variants: [] })),
  ];
  const page = await open(browser, server, "hot-line");
  await page.keyboard.press("a");
  await page.waitForSelector(".allday .counts li");
  const first = (await page.innerText(".counts li >> nth=0")).replace(/\s+/g, " ");
  assert(/^12 Burger 3 no onions/.test(first), "the total is first: " + first);
  for (const [where, boards] of [["strip", 1], ["screen", 0]]) {
    await change(page, { allday: where });
    await page.waitForSelector("#strip .counts li");
    equal((await heads(page)).length, 2 * boards, "cards beside it");
    await until("all fit", () => page.$eval("#strip", (s) => s.scrollHeight <= s.clientHeight + 1));
  }
  server.counts = [];
  server.put(order(3));
  await until("it follows", async () => /Nothing to make/.test(await page.innerText("#strip")));
}

export async function aReloadWhileTheServerIsDownKeepsTheBoard(server, browser) {
  server.setup.language = "fr";
  server.orders = [order(1)];
  const page = await open(browser, server, "hot-line");
  await page.evaluate(() => navigator.serviceWorker.ready.then(() => {}));
  await server.kill();
  for (const keys of ["F5", "Control+r"]) {
    await page.keyboard.press(keys);
    await until("it says so", async () => /ne répond pas/.test(await page.innerText("#message")));
    equal(await heads(page), ["#1"], "the board after " + keys);
  }
  // The browser's own button cannot be caught.
  await page.reload();
  equal(await page.innerText("h1"), "HORS LIGNE", "the page instead of the browser's error");
  equal(await page.getAttribute("html", "lang"), "fr", "its language");
  await server.start();
  await page.waitForSelector("#live.is", { timeout: PATIENCE });
  equal(await heads(page), ["#1"], "the board when the server is back");
  await page.keyboard.press("F5");
  await page.waitForEvent("load");
  await live(page);
}

export async function aCardThatEndsOnTheNextPageIsSeenWholeBeforeItIsBumped(server, browser) {
  server.orders = [bowl(1)];
  const viewport = { width: 640, height: 420 };
  const page = await open(browser, server, "hot-line", { viewport, settings: { size: "xl" } });
  await page.keyboard.press("1");
  const number = () => page.textContent("#pagenumber");
  while (!(await number()).startsWith("1 ")) await page.keyboard.press("PageUp");
  await page.keyboard.press("Enter");
  await until("the last page is shown", async () => /^(\d+) \/ \1$/.test(await number()));
  equal(server.commands(), [], "commands");
  await page.keyboard.press("Enter");
  await until("then it is bumped", () => String(server.commands()) === "bump k1");
}
