// The page alone: what it draws, says and posts of what the server tells it.

import { join } from "node:path";
import { AxeBuilder, assert, card, clipped, equal, heads, live, open, press, shots, until, watch } from "./harness.mjs";
import { cannedOrder as order } from "./canned.mjs";
import { evening } from "./evening.mjs";

const SCREENS = [
  [1920, 1080],
  [1280, 800],
  [1024, 600],
];

const texts = (page, selector) =>
  page.$$eval(".column:not(.measure) " + selector, (l) => l.map((e) => e.textContent.replace(/\s+/g, " ").trim()));
const set = (page, settings) =>
  page.evaluate((all) => {
    for (const name of Object.keys(all)) localStorage.setItem("ticketrail." + name, all[name]);
  }, settings);
const chip = (page, kind) => page.locator("#alerts .chip." + kind);
const played = (page) => page.getAttribute("html", "data-played");
const bowl = (i) =>
  order(
    i,
    [
      "Poke bowl",
      ...Array.from({ length: 21 }, (_, n) => ({
        name: "topping " + (n + 1),
        depth: 1,
        notes: n === 20 ? [{ text: "SHELLFISH ALLERGY", alarm: true }] : undefined,
      })),
    ],
    { alarms: [{ text: "SHELLFISH ALLERGY", job: 1, item: 21 }] },
  );

export async function anAllergyIsAtTheTopOfItsCardHoweverLongTheItemIs(server, browser) {
  server.orders = [bowl(1), order(2)];
  for (const [width, height] of SCREENS)
    for (const size of ["s", "xl", "auto"]) {
      const page = await open(browser, server, "hot-line", { viewport: { width, height } });
      await set(page, { size });
      await page.reload();
      await live(page);
      equal((await texts(page, ".card .alarm.top"))[0], "⚠ SHELLFISH ALLERGY", "under the head at " + width + size);
      assert(await card(page, "#1").locator(".alarm.top").first().isVisible(), "it is visible");
      const seen = new Set();
      for (;;) {
        equal(await clipped(page), [], "what is cut off at " + width + " " + size);
        for (const t of await texts(page, ".mod .name, .item .alarm")) seen.add(t);
        for (const t of await texts(page, ".continuation .alarm.top")) equal(t, "⚠ SHELLFISH ALLERGY", "repeated");
        if (!(await page.isVisible("#next")) || (await page.isDisabled("#next"))) break;
        await page.keyboard.press("PageDown");
      }
      equal(seen.size, 22, "toppings and the allergy at " + width + " " + size + ": " + [...seen]);
      await page.context().close();
    }
}

export async function atLeast85PercentOfTheBoardAreFilled(server, browser) {
  for (const n of [12, 40]) {
    server.orders = evening(n);
    for (const [width, height] of SCREENS) {
      const page = await open(browser, server, "hot-line", { viewport: { width, height } });
      const got = await page.evaluate(() => {
        const board = document.getElementById("board").getBoundingClientRect();
        const cards = () => {
          let area = 0;
          for (const c of document.querySelectorAll(".column:not(.measure) .card")) {
            const r = c.getBoundingClientRect();
            area += r.width * r.height;
          }
          return Math.round((100 * area) / (board.width * board.height));
        };
        const filled = cards();
        for (const c of document.querySelectorAll(".column.full")) c.classList.remove("full");
        return { filled, drawn: cards(), px: document.getElementById("board").style.fontSize };
      });
      const pages = (await page.isVisible("#pagenumber")) ? await page.textContent("#pagenumber") : "1 / 1";
      console.log(
        `     ${n} open at ${width}x${height}: ${got.filled} % filled (${got.drawn} % before rows grow),` +
          ` letters of ${got.px}, page ${pages}`,
      );
      assert(got.filled >= 85, got.filled + " % are filled at " + width + " with " + n);
      equal(await clipped(page), [], "what is cut off");
      await page.context().close();
    }
  }
}

export async function theLargestLettersAreLegibleAtTwoMetres(server, browser) {
  server.orders = [order(1)];
  const page = await open(browser, server, "hot-line", { viewport: { width: 1920, height: 1080 } });
  for (const [size, least] of [["s", 0], ["m", 0], ["l", 0], ["xl", 27.5], ["auto", 27.5]]) {
    await set(page, { size });
    await page.reload();
    await live(page);
    const capital = await page.$eval(".column:not(.measure) .line .name", (e) => {
      const { fontWeight, fontSize, fontFamily } = getComputedStyle(e);
      const c = document.createElement("canvas").getContext("2d");
      c.font = [fontWeight, fontSize, fontFamily].join(" ");
      return c.measureText("H").actualBoundingBoxAscent;
    });
    // A full-HD screen of 21.5 inches has pixels of 0.248 mm.
    const arcmin = (Math.atan((capital * 0.248) / 2000) * 180 * 60) / Math.PI;
    console.log(`     ${size}: capitals of ${capital.toFixed(1)} px, ${arcmin.toFixed(1)} arcmin at 2 m`);
    assert(capital >= least, "capitals of " + capital);
  }
}

export async function twoHundredOrdersAreOnPagesWithinASecond(server, browser) {
  server.orders = evening(200);
  const page = await open(browser, server, "hot-line");
  const ms = await page.evaluate(() => {
    const start = performance.now();
    dispatchEvent(new Event("resize"));
    return performance.now() - start;
  });
  console.log("     200 open: laid out in " + Math.round(ms) + " ms");
  const names = [];
  for (;;) {
    equal(await clipped(page), [], "what is cut off");
    for (const h of await heads(page)) if (!names.includes(h)) names.push(h);
    if (await page.isDisabled("#next")) break;
    await page.keyboard.press("PageDown");
  }
  equal(names, server.orders.map((o) => o.number), "the orders, on their pages");
}

export async function aVoidIsStruckInPlaceAndReadBeforeTheOrderIsBumped(server, browser) {
  const struck = { name: "Fish", void: true, struck: { job: 90, at: 1, clock: "19:40" } };
  server.orders = [
    order(1, [struck, "Chips"], {
      must_ack_void: true,
      voids: [
        {
          job: 90, at: 1, clock: "19:40", lines: ["1 Fish"], how: "number", bumped_at: 1, bumped_clock: "15:05",
        },
      ],
    }),
    order(2, [], {
      must_ack_void: true,
      voids: [{ job: 91, at: 1, clock: "19:41", lines: ["1 Soup"], how: "unmatched" }],
    }),
  ];
  const page = await open(browser, server, "hot-line");
  const first = card(page, "#1");
  equal(await first.locator("s").evaluate((s) => getComputedStyle(s).textDecorationLine), "line-through", "it is struck");
  assert(/VOID/.test(await first.locator(".line.void").textContent()), "it says VOID");
  equal(await first.locator(".line.void").evaluate((l) => l.closest("button.item")), null, "it cannot be ticked");
  const band = await first.locator(".voided").first().textContent();
  for (const part of ["VOID 19:40", "1 Fish", "you bumped this at 15:05", "matched by order number"])
    assert(band.includes(part), part + " is missing in: " + band);
  assert(/could not match.*1 Soup/.test(await card(page, "#2").textContent()), "it does not say that it did not match");
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
    const covered = await page.$$eval(".column:not(.measure) .act, .column:not(.measure) button.item", (list) =>
      list.filter((b) => {
        const r = b.getBoundingClientRect();
        const at = (x, y) => b.contains(document.elementFromPoint(x, y));
        return ![r.left + 3, r.left + r.width / 2, r.right - 3].every((x) => at(x, r.top + 3) && at(x, r.bottom - 3));
      }).length,
    );
    equal(covered, 0, "covered buttons at " + width);
    await page.keyboard.press("u");
    await until("it is back", () => server.orders.length === 20);
    await page.context().close();
  }
}

export async function newsOfOtherPagesIsHeardAndATapGoesThere(server, browser) {
  Object.assign(server.setup, { pass: true, name: "pass" });
  const says = (i, ready) => ({ age: 100 - i, ready, parts: [{ station: "hot-line", says: true, state: "open", text: "x" }] });
  server.orders = Array.from({ length: 30 }, (_, i) => order(i + 1, ["Burger", "Chips", "Salad"], says(i)));
  const page = await open(browser, server, "pass", { viewport: { width: 1024, height: 600 } });
  equal(await chip(page, "ready").count(), 0, "nothing is ready");
  const last = server.orders[29];
  server.put({ ...last, version: 2, ready: true });
  await chip(page, "ready").waitFor();
  equal(await played(page), "ready", "the sound");
  assert((await chip(page, "ready").textContent()).includes("#30"), "the chip names the order");
  server.put({ ...server.orders[24], version: 2, must_ack_void: true, voids: [{ job: 991, clock: "19:40", how: "request" }] });
  await chip(page, "void").waitFor();
  await until("the sound of a void", async () => (await played(page)) === "void");
  await chip(page, "ready").click();
  await until("a tap goes there", async () => (await heads(page)).includes("#30"));
  equal(await page.locator(".card.selected .number").first().textContent(), "#30", "what is selected");
  equal(await chip(page, "ready").count(), 0, "it is visible now");
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

export async function aPageWhosePostsFailIsNotLive(server, browser) {
  server.orders = [order(1)];
  const page = await open(browser, server, "hot-line");
  page.wrong = [];
  server.refuse.add("/shown");
  await page.waitForSelector("body.notlive", { timeout: 15000 });
  assert(/does not hear this screen/.test(await page.innerText("#cover")), "it does not say why");
  equal(await page.textContent("#live"), "NOT LIVE", "the state");
  server.refuse.delete("/shown");
  await live(page);
  assert(!(await page.isVisible("#cover")), "the cover stays");
  page.wrong = []; // the answers that were refused
}

export async function whatWentToPaperInTheDarkIsOffered(server, browser) {
  const paper = { state: "elsewhere", off: 5, off_at: Date.now(), ticket: { state: "elsewhere", paper: "grill" } };
  server.recall = [order(1, ["Soup"], paper), order(2, ["Pie"], paper), order(3, ["Tart"], paper)];
  const page = await open(browser, server, "hot-line");
  equal(await chip(page, "paper").textContent(), "3 tickets are on paper at grill", "the bar");
  await chip(page, "paper").click();
  await page.getByRole("button", { name: "Take onto the board: #1" }).click();
  await until("it is on the board", async () => String(await heads(page)) === "#1");
  await chip(page, "paper").click();
  await page.getByRole("button", { name: "Leave on paper: #2" }).click();
  await until("it is left", () => server.commands().includes("leave k2"));
  equal(server.commands(), ["recall k1", "leave k2"], "commands");
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
  await set(page, { allday: "screen" });
  await page.reload();
  await live(page);
  await until("nothing can be seen", () => visible().length === 0);
}

export async function thePassSaysWhatItKnowsOfEachPart(server, browser) {
  Object.assign(server.setup, { pass: true, name: "pass", title: "Pass" });
  const parts = [
    { station: "hot-line", title: "Hot line", kind: "screen", says: true, state: "done", text: "hot line ✓ 19:41" },
    { station: "cold", title: "Cold", kind: "screen", says: true, state: "open", text: "cold: 1 left" },
    {
      station: "bar", title: "Bar", kind: "paper", state: "out", lines: ["1 Negroni"],
      text: "bar: on paper, confirmed 19:32, cannot know when it is made",
    },
    { station: "grill", title: "Grill", kind: "paper", state: "held", text: "grill: HELD – call somebody" },
  ];
  server.orders = [order(1, ["Steak"], { parts })];
  const page = await open(browser, server, "pass");
  equal(await texts(page, ".says"), parts.map((p) => p.text), "the parts");
  assert((await card(page, "#1").innerText()).includes("1 Negroni"), "what the bar got");
  equal(await card(page, "#1").locator(".tick").count(), 1, "only what cannot say so itself is ticked by hand");
  equal(await card(page, "#1").locator(".act").textContent(), "Not ready", "the button");
  await press(page, "#1", ".tick");
  await until("it is ticked", async () => (await card(page, "#1").locator(".tick").getAttribute("aria-pressed")) === "true");
  equal(server.posts.filter((p) => p.path === "/do").map((p) => p.body.part), ["bar"], "the part");
  await page.keyboard.press("1");
  await page.keyboard.press("Enter");
  equal(server.commands(), ["tick k1"], "one press sends nothing out");
  server.put({ ...server.orders[0], version: 9, ready: true });
  await until("it is ready", async () => /READY/.test(await card(page, "#1").locator(".act").textContent()));
  await press(page, "#1", ".act");
  await until("it goes out", async () => (await heads(page)).length === 0);
}

export async function identicalLinesAreOneLineUntilOneIsDone(server, browser) {
  const cheese = [{ name: "Burger" }, { name: "cheese", depth: 1 }];
  server.orders = [order(1, ["Fries", "Fries", { name: "Fries", quantity: "2" }, "Fries", ...cheese, ...cheese, "Burger"])];
  server.orders[0].tickets[0].items[3].done = true;
  const page = await open(browser, server, "hot-line");
  const items = () => texts(page, ".item");
  equal(await items(), ["4×Fries", "1Fries", "2×Burgercheese", "1Burger"], "the lines");
  await press(page, "#1", "button.item");
  await until("all four are done", () => server.commands().length === 3);
  await until("and say so", async () => (await page.locator(".column:not(.measure) .item.done").count()) === 1);
  equal(server.orders[0].tickets[0].items.slice(0, 4).map((i) => i.done), [true, true, true, true], "at the server");
  await page.keyboard.press("u");
  await until("Undo takes all back", () => server.commands().length === 6);
}

export async function anOrderSaysWhatBelongsToIt(server, browser) {
  const o = order(1, [{ name: "Soup", course: "Starters" }, { name: "Pie", course: "Mains", seat: "2" }], {
    courses: ["Starters", "Mains"], also_at: ["bar", "pastry"], rush: true, of: { number: "#99", clock: "19:10" },
    dine_in: false, type: "Takeaway",
  });
  const unusual = { for: "grill", duplicate: true, reprint: true, refire: true, no_route: true, paper: "bar" };
  const added = order(2, [{ name: "Bread", colour: "red" }], { ticket: { added: true, clock: "19:40", ...unusual } });
  o.tickets.push(added.tickets[0]);
  server.orders = [o, order(3)];
  const page = await open(browser, server, "hot-line");
  const text = (await card(page, "#1").locator(".names > :not(.hint), .banner, h3, .line, .also").allTextContents()).join(" ");
  for (const part of ["RUSH #1 B1 Takeaway", "add-on to #99, bumped 19:10", "Starters", "Mains · Seat 2", "ADDED 19:40",
    "FOR grill", "POSSIBLE DUPLICATE", "REPRINT", "REFIRE", "NO ROUTE", "PRINTED AT bar", "ALSO AT bar, pastry"])
    assert(text.includes(part), part + " is missing in: " + text);
  assert(!/Ann|9f2a|Dine In/.test(await page.innerText("#board")), "what is behind a tap is on the card");
  const high = async (what) => (await card(page, "#3").first().locator(what).boundingBox()).height;
  assert((await high(".head")) < 1.6 * (await high(".number")), "the head is more than one line");
}

export async function detailsAndTheTimelineOpenByTouchAndByKeyboard(server, browser) {
  server.orders = [order(1), order(2)];
  server.events = [{ at: 1, clock: "19:30", text: "accepted" }, { at: 2, clock: "19:31", text: "first seen on hot-line" }];
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
  const page = await open(browser, server, "hot-line", { viewport: { width: 1920, height: 1080 } });
  await set(page, { size: "s" });
  await page.reload();
  await live(page);
  const on = await page.$$eval(".column:not(.measure) .card", (l) =>
    l.map((c) => [c.querySelector(".hint").textContent, c.querySelector(".number").textContent]),
  );
  const byKey = new Map(on);
  assert(byKey.size > 27 && byKey.size === new Set(on.map((p) => p[1])).size, byKey.size + " keys for " + on.length);
  for (const [hint, number] of byKey) {
    await page.keyboard.press(hint.replace("⇧", "Shift+").replace(/^[A-Z]$/, (c) => c.toLowerCase()));
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
  server.orders = [bowl(1), order(2, ["Fish", "Chips"]), order(3, [], { must_ack_void: true })];
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
  await page.tap("#board .row >> nth=0");
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
    await set(page, { allday: where });
    await page.reload();
    await live(page);
    await page.waitForSelector("#strip .counts li");
    equal((await heads(page)).length, 2 * boards, "cards beside it");
    await until("all fit", () => page.$eval("#strip", (s) => s.scrollHeight <= s.clientHeight + 1));
  }
  server.counts = [];
  server.put(order(3));
  await until("it follows", async () => /Nothing to make/.test(await page.innerText("#strip")));
}

export async function lateAllergyAndVoidHaveThreeShapesAndPlaces(server, browser) {
  server.orders = [
    order(1),
    order(2, ["Fish"], { age: 600 }),
    order(3, [{ name: "Pie", notes: [{ text: "NUT ALLERGY", alarm: true }] }], {
      alarms: [{ text: "NUT ALLERGY", job: 1, item: 0 }],
    }),
    order(4, [{ name: "Soup", void: true, struck: { clock: "19:40" } }], {
      must_ack_void: true,
      voids: [{ job: 9, clock: "19:40", lines: ["1 Soup"], how: "request" }],
    }),
  ];
  for (const colorScheme of ["dark", "light"]) {
    const page = await open(browser, server, "hot-line", { colorScheme, viewport: { width: 1024, height: 600 } });
    // What colour says is measured as brightness alone: that is what is left of it in grey.
    const bright = (name, selector) =>
      card(page, name).first().locator(selector).first().evaluate((e) => {
        const [r, g, b] = getComputedStyle(e).backgroundColor.match(/\d+/g).map((v) => Math.pow(v / 255, 2.2));
        return 0.2126 * r + 0.7152 * g + 0.0722 * b + 0.05;
      });
    const ratio = (a, b) => Math.max(a, b) / Math.min(a, b);
    const [plain, late] = [await bright("#1", ".head"), await bright("#2", ".head")];
    assert(ratio(plain, late) > 3, colorScheme + ": a late head is like another: " + ratio(plain, late));
    const [alarm, body] = [await bright("#3", ".alarm.top"), colorScheme === "dark" ? 0.06 : 1.05];
    assert(ratio(alarm, body) > 7, colorScheme + ": an allergy is like a line: " + ratio(alarm, body));
    const edge = (name) => card(page, name).first().evaluate((c) => getComputedStyle(c, "::before").backgroundImage);
    assert(/repeating/.test(await edge("#4")), "the edge of a void is not hatched");
    for (const name of ["#1", "#2", "#3"]) equal(await edge(name), "none", "the edge of " + name);
    equal(await card(page, "#2").locator(".word").first().textContent(), "LATE", "the word");
    const session = await page.context().newCDPSession(page);
    for (const type of ["achromatopsia", "deuteranopia"]) {
      await session.send("Emulation.setEmulatedVisionDeficiency", { type });
      await page.screenshot({ path: join(shots, "three-shapes-" + type + "-" + colorScheme + ".png") });
    }
    await page.context().close();
  }
}

export async function aReloadWhileTheServerIsDownKeepsTheBoard(server, browser) {
  server.orders = [order(1)];
  const page = await open(browser, server, "hot-line");
  await page.evaluate(() => navigator.serviceWorker.ready.then(() => {}));
  await server.kill();
  for (const keys of ["F5", "Control+r"]) {
    await page.keyboard.press(keys);
    await until("it says so", async () => /does not answer/.test(await page.innerText("#message")));
    equal(await heads(page), ["#1"], "the board after " + keys);
  }
  // The browser's own button cannot be caught.
  await page.reload();
  assert(/NOT LIVE/.test(await page.innerText("h1")), "the page instead of the browser's error");
  await server.start();
  await page.waitForSelector("#live.is", { timeout: 30000 });
  equal(await heads(page), ["#1"], "the board when the server is back");
  await page.keyboard.press("F5");
  await page.waitForEvent("load");
  await live(page);
}

export async function textOfOrdersIsNeverMarkup(server, browser) {
  const evil = [
    "<img src=x onerror=\"document.title='owned'\">", "</script><script>document.title='owned'</script>", "${1}{{.}}",
    "a".repeat(900), "&lt;b&gt;", "-->", "מלפפון عصير", "line\nline\nline",
  ];
  const o = (i, e) =>
    order(i, evil.map((name) => ({ name, seat: e, course: e, of: e, notes: [{ text: name, alarm: true }, { text: e }] })), {
      number: e, table: e, type: e, dine_in: false, server: e, also_at: [e], of: { number: e, clock: "19:30" }, courses: [e],
      alarms: [{ text: e, job: 1, item: 0 }], voids: [{ job: 1, clock: "19:30", lines: [e], how: "unmatched", bumped_clock: "19:00" }],
      parts: [{ station: "x", title: e, text: e, state: "out", lines: [e] }],
    });
  for (const pass of [false, true]) {
    server.setup.pass = pass;
    server.orders = evil.map((e, i) => o(i, e));
    server.recall = [{ ...o(50, evil[0]), state: "bumped", off: 1, off_at: Date.now() }];
    server.events = evil.map((text) => ({ at: 1, clock: text, text }));
    server.counts = evil.map((name) => ({ name, quantity: name, orders: 2, variants: [{ quantity: name, modifiers: evil }] }));
    const page = await open(browser, server, "hot-line");
    assert((await page.innerText("#board")).includes(evil[0]), "it is shown as it is written");
    for (const key of ["a", "c", "Shift+R"]) {
      await page.keyboard.press(key);
      await page.waitForSelector("dialog .content *");
      await page.keyboard.press("Escape");
    }
    await page.keyboard.press("1");
    await page.keyboard.press("d");
    await page.waitForSelector(".timeline li");
    equal(
      await page.evaluate(() => document.images.length + document.querySelectorAll("script").length),
      2,
      "elements that are not ours",
    );
    await page.keyboard.press("Escape");
    for (;;) {
      equal(await clipped(page), [], "what is cut off");
      if (await page.isDisabled("#next")) break;
      await page.keyboard.press("PageDown");
    }
    assert(!/owned/.test((await page.title()).replace(evil[0], "")), "nothing ran");
  }
}

export async function everythingIsAccessible(server, browser) {
  server.orders = [...evening(14), bowl(20)];
  server.orders[12].must_ack_alarm = true;
  server.recall = [
    order(30, ["Soup"], { state: "elsewhere", off: 5, off_at: Date.now(), ticket: { paper: "grill" } }),
    order(31, ["Pie"], { state: "bumped", off: 6, off_at: Date.now() }),
  ];
  server.counts = [{ name: "Burger", quantity: "12", orders: 9, variants: [{ quantity: "3", modifiers: ["no onions"] }] }];
  server.events = [{ at: 1, clock: "19:30", text: "accepted" }];
  for (const pass of [false, true])
    for (const colorScheme of ["dark", "light"]) {
      server.setup.pass = pass;
      const page = await open(browser, server, "hot-line", { colorScheme });
      const check = async (what) => {
        const found = (await new AxeBuilder({ page }).analyze()).violations;
        const list = found.map((v) => [v.id, v.nodes.map((n) => n.html.slice(0, 140) + " " + n.failureSummary)]);
        assert(!found.length, [colorScheme, pass, what, JSON.stringify(list, null, 1)].join(" "));
      };
      await check("the board");
      const small = await page.$$eval("button", (l) =>
        l
          .filter((b) => b.offsetParent && !b.closest(".measure") && !b.matches(".head"))
          .map((b) => [b.textContent, b.offsetWidth, b.offsetHeight])
          .filter(([, w, h]) => w < 48 || h < 48),
      );
      equal(small, [], "buttons smaller than 48 px");
      for (const key of pass ? [] : ["d", "a", "Shift+R", "s", "h", "c"]) {
        if (key === "d") await page.keyboard.press("1");
        await page.keyboard.press(key);
        await page.waitForSelector("dialog .content *");
        await check("panel " + key);
        await page.keyboard.press("Escape");
      }
      if (!pass) {
        await page.click("#alerts .paper");
        await check("what is on paper");
      }
      await page.context().close();
    }
  const phone = await open(browser, server, "hot-line", { viewport: { width: 390, height: 844 } });
  equal((await new AxeBuilder({ page: phone }).analyze()).violations.map((v) => v.id), [], "a phone");
  server.setup.pass = false;
  const calm = await open(browser, server, "hot-line", { reducedMotion: "reduce" });
  server.put(order(40));
  await calm.waitForSelector(".card.new", { state: "attached" });
  equal(await calm.$eval(".card.new .head", (h) => getComputedStyle(h).animationName), "none", "no flashing");
}
