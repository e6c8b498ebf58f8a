// What a page shows when the server or the connection fails: NOT LIVE, and never an old board as new.

import {
  NO_WORKER, PATIENCE, SCREENS, SILENCE, assert, chip, equal, heads, live, open, order, passes, show, until, watch,
} from "./harness.mjs";

// A page knows after two heartbeats, 10 s, and a busy machine may draw it late.
const NOT_LIVE_WITHIN = 25000;

export async function aKilledServerIsShownAsNotLiveAndTheBoardIsTheSameAfterwards(server, browser) {
  await server.put("hot-line", order(1), order(2), order(3));
  const page = await open(browser, server, "hot-line");
  await page.keyboard.press("2");
  await page.keyboard.press("i");
  await page.keyboard.press("Enter");
  await until("an item is done", async () => (await page.locator(".item.done").count()) === 1);
  const before = await page.innerText("#board .column >> nth=0");
  await server.kill();
  const killed = Date.now();
  await page.waitForSelector("body.notlive", { timeout: PATIENCE });
  assert(Date.now() - killed < NOT_LIVE_WITHIN, "NOT LIVE after " + (Date.now() - killed) + " ms");
  assert(/^NOT LIVE since \d\d:\d\d$/.test(await page.textContent("#cover .big")), "it says since when");
  equal((await heads(page)).length, 3, "what is known stays");
  await server.start();
  await live(page);
  assert(!(await page.isVisible("#cover")), "the cover is gone");
  const strip = (s) => s.replace(/\d\d:\d\d/g, "");
  equal(strip(await page.innerText("#board .column >> nth=0")), strip(before), "the board");
  await server.put("hot-line", order(4));
  await until("it is live", async () => (await heads(page)).includes("#4"));
}

export async function aServerThatHangsIsShownAsNotLive(server, browser) {
  await server.put("hot-line", order(1));
  const page = await open(browser, server, "hot-line");
  server.process.kill("SIGSTOP"); // its connections stay open
  const start = Date.now();
  try {
    await page.waitForSelector("body.notlive", { timeout: PATIENCE });
    assert(Date.now() - start < NOT_LIVE_WITHIN, "NOT LIVE after " + (Date.now() - start) + " ms");
    // For a moment the page may know only that it is not heard, and take presses.
    await page.waitForSelector("body.notlive:not(.usable)", { timeout: PATIENCE });
    await page.keyboard.press("1");
    await page.keyboard.press("Enter");
  } finally {
    server.process.kill("SIGCONT");
  }
  await live(page);
  await server.put("hot-line", order(2));
  await until("it is told", async () => String(await heads(page)) === "#1,#2");
  equal(
    (await server.ask("/put", { Station: "hot-line", Print: true, Tickets: [order(3)] })).proof,
    "shown",
    "a new ticket",
  );
}

export async function aCommandIsSentUntilItIsAnswered(server, browser) {
  await server.put("hot-line", order(1), order(2));
  const page = await open(browser, server, "hot-line", NO_WORKER);
  let cut = 2;
  await page.route("**/do", async (route) => {
    if (cut-- > 0) {
      await route.fetch(); // it arrives, and the answer is lost
      return route.abort();
    }
    return route.continue();
  });
  await page.keyboard.press("1");
  await page.keyboard.press("Enter");
  await page.waitForSelector("#undo:not(:disabled)", { timeout: PATIENCE });
  equal(await heads(page), ["#2"], "the board");
  const { board } = await server.status("hot-line");
  page.wrong = []; // the answers that were cut
  const [bumped] = board.recall;
  equal([board.orders.length, board.recall.length, bumped.tickets[0].version], [1, 1, 2], "it was done once");
}

export async function theClockOfTheTabletDoesNotMatter(server, browser) {
  const start = Date.now();
  await server.put("hot-line", { ...order(1), age: 100 });
  const context = await browser.newContext({ timezoneId: "America/New_York" });
  const page = await context.newPage();
  await page.clock.install({ time: new Date(Date.now() + 3600e3) });
  await page.goto(server.url + "/screen/hot-line");
  await live(page);
  // ages says whether the card is as old as the server says, by the real clock.
  const ages = async () => {
    const [minutes, seconds] = (await page.textContent(".time")).split(":").map(Number);
    const age = minutes * 60 + seconds;
    return age >= 100 && age <= 103 + (Date.now() - start) / 1000;
  };
  assert(await ages(), "the age is " + (await page.textContent(".time")));
  const zone = new Intl.DateTimeFormat("en-GB", {
    timeZone: "Australia/Melbourne",
    hour: "2-digit",
    minute: "2-digit",
  });
  const near = [-60e3, 0, 60e3].map((d) => zone.format(new Date(Date.now() + d)));
  assert(
    near.includes(await page.textContent("#clock")),
    "the clock is " + (await page.textContent("#clock")) + ", not one of " + near,
  );
  await page.clock.setSystemTime(new Date(Date.now() - 7200e3));
  await page.clock.runFor(2000);
  assert(await ages(), "the age is " + (await page.textContent(".time")) + " after the clock was set");
}

export async function aPageThatWasOfflineForAMinuteCatchesUp(server, browser) {
  await server.put("hot-line", order(1));
  const page = await open(browser, server, "hot-line");
  await page.context().setOffline(true);
  // Playwright blocks new requests; the open stream is cut by the restart below.
  await page.evaluate(() => dispatchEvent(new Event("offline")));
  await server.kill();
  await server.start();
  await passes(page, SILENCE);
  await page.waitForSelector("body.notlive", { timeout: PATIENCE });
  await server.put("hot-line", order(2), order(3));
  const s = await server.status("hot-line");
  equal(s.status.live, 0, "live pages");
  for (let n = 0; n < 6; n++) {
    const tried = page.waitForEvent("requestfailed", { timeout: PATIENCE });
    await passes(page, SILENCE);
    await tried;
  }
  equal(await heads(page), ["#1"], "what it shows meanwhile");
  await page.context().setOffline(false);
  await live(page);
  await until("it has all", async () => String(await heads(page)) === "#1,#2,#3");
  await until("the server knows", async () => (await server.status("hot-line")).status.live === 1);
}

export async function withoutAStreamThePagePolls(server, browser) {
  await server.put("hot-line", order(1));
  const page = await browser.newPage(NO_WORKER);
  page.wrong = [];
  await page.route("**/events?*", (route) => route.abort());
  await page.goto(server.url + "/screen/hot-line");
  await passes(page, SILENCE);
  await page.waitForSelector("body.notlive.usable", { timeout: PATIENCE });
  await server.put("hot-line", order(2));
  await until("it asked", async () => (await heads(page)).length === 2);
  assert(/NOT LIVE since/.test(await page.innerText("#cover")), "and says that it is not live");
  equal((await server.status("hot-line")).status.live, 0, "it does not count as live");
  await page.keyboard.press("1");
  await page.keyboard.press("Enter");
  await until("it can work", async () => String(await heads(page)) === "#2");
}

export async function aPageInTheBackgroundIsNotLiveAndCatchesUpWhenItIsSeen(server, browser) {
  await server.put("hot-line", order(1));
  const page = await open(browser, server, "hot-line");
  await show(page, false);
  await until("nobody looks", async () => (await server.status("hot-line")).status.live === 0);
  await server.put("hot-line", order(2));
  await show(page, true);
  await until("it has all", async () => String(await heads(page)) === "#1,#2");
  await live(page);
  await until("somebody looks", async () => (await server.status("hot-line")).status.live === 1);
}

export async function sevenTabsOfOneBrowserDoNotSilenceEachOther(server, browser) {
  await server.put("hot-line", order(1));
  const first = await open(browser, server, "hot-line");
  for (let n = 2; n <= 7; n++) {
    await show(first.context().pages()[n - 2], false);
    const tab = await watch(await first.context().newPage());
    await tab.goto(server.url + "/screen/hot-line");
    await live(tab);
  }
  const last = first.context().pages()[6];
  await last.keyboard.press("1");
  await last.keyboard.press("Enter");
  await until("its command arrives", async () => (await heads(last)).length === 0);
}

export async function aClosedPageIsNotLive(server, browser) {
  const page = await open(browser, server, "hot-line");
  await until("it is live", async () => (await server.status("hot-line")).status.live === 1);
  await page.reload();
  await live(page);
  await until("one page", async () => (await server.status("hot-line")).status.live === 1);
  await page.context().close();
  await until("the screen is dark", async () => (await server.status("hot-line")).status.live === 0);
  let refused = "";
  await server.ask("/put", { Station: "hot-line", Print: true, Tickets: [order(1)] }).catch((e) => {
    refused = String(e);
  });
  assert(/no page of this screen is open/.test(refused), "a ticket waits: " + refused);
}

// The server notes that a ticket was seen and tells the page, most likely while a cook presses on it.
export async function aPressIsNotLostWhenTheServerNotesThatATicketWasSeen(server, browser) {
  await server.put("hot-line", order(1));
  const page = await watch(await browser.newPage(NO_WORKER));
  let release;
  const pressed = new Promise((done) => {
    release = done;
  });
  await page.route("**/shown", (route) => pressed.then(() => route.continue()));
  await page.goto(server.url + "/screen/hot-line");
  await live(page);
  await page.hover(".card .act");
  await page.mouse.down();
  release();
  await until("it was seen", async () => (await server.status("hot-line")).board.orders[0].tickets[0].seen > 0);
  await server.put("hot-line", order(2)); // told after the other change
  await until("the page knows", async () => (await heads(page)).length === 2);
  await page.mouse.up();
  await until("it is bumped", async () => String(await heads(page)) === "#2");
}

// If the bar grew, all cards would be drawn anew, and a press on one of them would be lost.
export async function aChipLeavesTheCardsAsTheyAre(server, browser) {
  await server.put("hot-line", ...Array.from({ length: 80 }, (_, i) => order(i + 1)));
  for (const [width, height] of SCREENS) {
    const page = await open(browser, server, "hot-line", { viewport: { width, height } });
    const before = await page.$(".column:not(.measure) .card");
    equal(await chip(page, "new").count(), 0, "chips before");
    await server.put("hot-line", order(width));
    await chip(page, "new").waitFor();
    const count = await page.textContent("#count");
    await server.put("hot-line", order(width + 1));
    await until("the board is drawn again", async () => (await page.textContent("#count")) !== count);
    assert(await before.evaluate((card) => card.isConnected), "the card is another element at " + width);
    await page.context().close();
  }
}

// openWithStream opens a screen whose event stream is window.stream.
async function openWithStream(browser, server) {
  const page = await watch(await browser.newPage(NO_WORKER));
  await page.addInitScript(() => {
    const Stream = EventSource;
    window.EventSource = function (url) {
      return (window.stream = new Stream(url));
    };
  });
  await page.goto(server.url + "/screen/hot-line");
  await live(page);
  return page;
}

// The server would refuse it: it does not count a page that does not hear of changes.
export async function aPageWhoseStreamHasEndedConfirmsNothing(server, browser) {
  const page = await openWithStream(browser, server);
  await until("it has confirmed", async () => (await server.status("hot-line")).status.live === 1);
  let confirmed = 0;
  await page.route("**/shown", async (route) => {
    if (++confirmed > 1) return route.continue();
    const answer = await route.fetch();
    await server.put("hot-line", order(2)); // wants to be confirmed after this one
    await until("it is there", async () => (await heads(page)).length === 2);
    await page.evaluate(() => window.stream.close());
    return route.fulfill({ response: answer });
  });
  const answered = page.waitForResponse("**/shown");
  await server.put("hot-line", order(1));
  await answered;
  await page.waitForTimeout(500);
  equal(confirmed, 1, "confirmations");
}

// A snapshot that was requested before changes that the stream has told already must not undo them.
export async function aLateSnapshotDoesNotUndoChanges(server, browser) {
  await server.put("hot-line", order(1));
  const page = await openWithStream(browser, server);
  let release;
  const late = new Promise((done) => {
    release = done;
  });
  let asked = false;
  await page.route("**/state", async (route) => {
    const answer = await route.fetch();
    asked = true;
    await late;
    return route.fulfill({ response: answer });
  });
  // A heartbeat with the id of another state makes the page request a snapshot. The page may be about to open its
  // stream anew, so it gets one until it has asked.
  await until("it asks for a snapshot", async () => {
    await page.evaluate(() =>
      window.stream.dispatchEvent(
        new MessageEvent("beat", { data: JSON.stringify({ id: "x.1", now: Date.now(), offset: 0 }) }),
      ),
    );
    return asked;
  });
  await server.put("hot-line", order(2));
  await until("it is told", async () => (await heads(page)).length === 2);
  const answered = page.waitForResponse("**/state");
  release();
  await answered;
  for (let i = 0; i < 10; i++) {
    equal(await heads(page), ["#1", "#2"], "the board");
    await page.waitForTimeout(50);
  }
}
