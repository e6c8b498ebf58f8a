// What the page draws of what the server tells it.

import {
  SCREENS, assert, card, change, clipped, equal, heads, open, press, resize, texts, until,
} from "./harness.mjs";
import { bowl, cannedOrder as order } from "./canned.mjs";
import { evening } from "./evening.mjs";

export async function anAllergyIsAtTheTopOfItsCardHoweverLongTheItemIs(server, browser) {
  server.orders = [bowl(1), order(2)];
  for (const size of ["s", "xl", "auto"]) {
    const page = await open(browser, server, "hot-line", { settings: { size } });
    for (const [width, height] of SCREENS) {
      await resize(page, width, height);
      await page.keyboard.press("Home");
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
    }
    await page.context().close();
  }
}

export async function atLeast85PercentOfTheBoardAreFilledAndNotByButtons(server, browser) {
  for (const n of [12, 40]) {
    server.orders = evening(n);
    for (const [width, height] of SCREENS) {
      const page = await open(browser, server, "hot-line", { viewport: { width, height } });
      const got = await page.evaluate(() => {
        const board = document.getElementById("board").getBoundingClientRect();
        const area = (selector) =>
          Array.from(document.querySelectorAll(selector), (e) => e.getBoundingClientRect())
            .reduce((sum, r) => sum + r.width * r.height, 0);
        const all = ".column:not(.measure) ";
        const cards = () => Math.round((100 * area(all + ".card")) / (board.width * board.height));
        const buttons = area(all + ".foot, " + all + ".head .act") / area(all + ".card");
        const rows = () =>
          Array.from(document.querySelectorAll(".column:not(.measure) .item, .column:not(.measure) .act"), (e) =>
            e.getBoundingClientRect().height);
        const [filled, grown] = [cards(), rows()];
        for (const c of document.querySelectorAll(".column")) c.style.setProperty("--grow", "0px");
        const growth = rows().map((h, i) => grown[i] / h);
        const px = document.getElementById("board").style.fontSize;
        return { filled, drawn: cards(), most: Math.max(...growth), px, buttons };
      });
      const pages = (await page.isVisible("#pagenumber")) ? await page.textContent("#pagenumber") : "1 / 1";
      console.log(
        `     ${n} open at ${width}x${height}: ${got.filled} % filled (${got.drawn} % before rows grow, at most` +
          ` ${got.most.toFixed(2)} times), buttons are ${Math.round(1000 * got.buttons) / 10} %,` +
          ` letters of ${got.px}, page ${pages}`,
      );
      assert(got.filled >= 85, got.filled + " % are filled at " + width + " with " + n);
      assert(got.buttons < 0.1, "buttons are " + got.buttons + " of the cards at " + width + " with " + n);
      if (n === 12 && width === 1920) equal((await heads(page)).length, 12, "visible orders");
      assert(got.most < 1.26, "a row or a button is " + got.most + " times as high as it needs to be");
      equal(await clipped(page), [], "what is cut off");
      await page.context().close();
    }
  }
}

export async function theLargestLettersAreLegibleAtTwoMetres(server, browser) {
  server.orders = [order(1)];
  const page = await open(browser, server, "hot-line", { viewport: { width: 1920, height: 1080 } });
  for (const [size, least] of [["s", 0], ["m", 0], ["l", 0], ["xl", 27.5], ["auto", 27.5]]) {
    await change(page, { size });
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

export async function twoHundredOrdersAreOnPagesWithNothingCutOff(server, browser) {
  server.orders = evening(200);
  const page = await open(browser, server, "hot-line");
  const ms = await page.evaluate(async () => {
    const start = performance.now();
    document.getElementById("board").style.maxWidth = "1200px"; // columns of another width: all is drawn anew
    for (let i = 0; i < 2; i++) await new Promise(requestAnimationFrame);
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

export async function identicalLinesAreOneLineUntilOneIsDone(server, browser) {
  const cheese = [{ name: "Burger" }, { name: "cheese", depth: 1 }];
  const two = { name: "Fries", quantity: "2" };
  server.orders = [order(1, ["Fries", "Fries", two, "Fries", ...cheese, ...cheese, "Burger"])];
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
    courses: ["Starters", "Mains"], also_at: ["bar", "pastry"], rush: true, bumped_clock: "19:10",
    dine_in: false, type: "Takeaway",
  });
  const unusual = {
    for: "grill-2", refused_by: ["fresh"], duplicate: true, reprint: true, refire: true, no_route: true, paper: "bar",
  };
  const added = order(2, [{ name: "Bread", colour: "red" }], { ticket: { added: true, clock: "19:40", ...unusual } });
  o.tickets.push(added.tickets[0]);
  server.orders = [o, order(3)];
  const page = await open(browser, server, "hot-line");
  const parts = card(page, "#1").locator(".names > :not(.hint), .banner, h3, .line, .also");
  const text = (await parts.allTextContents()).join(" ");
  for (const part of ["#1 B1 RUSH Takeaway", "add-on to #1, bumped 19:10", "Starters", "Mains", "Pie S2",
    "ADDED 19:40", "REFUSED BY FRESH", "FOR GRILL 2", "POSSIBLE DUPLICATE", "REPRINT", "REFIRE", "NO ROUTE",
    "PRINTED AT BAR", "ALSO AT bar, pastry"])
    assert(text.includes(part), part + " is missing in: " + text);
  assert(!/Ann|9f2a|Dine In/.test(await page.innerText("#board")), "what is behind a tap is on the card");
}

export async function lateAllergyAndVoidHaveThreeShapesAndPlaces(server, browser) {
  server.orders = [
    order(1),
    order(2, ["Fish"], { age: 600 }),
    order(3, [{ name: "Pie", notes: [{ text: "NUT ALLERGY", alarm: true }] }], {
      alarms: [{ text: "NUT ALLERGY", job: 1, item: 0 }],
    }),
    order(4, [{ name: "Soup", void: true }], {
      must_ack_void: true,
      voids: [{ job: 9, clock: "19:40", lines: ["1 Soup"] }],
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
    await page.context().close();
  }
}

export async function textOfOrdersIsNeverMarkup(server, browser) {
  const evil = [
    "<img src=x onerror=\"document.title='owned'\">", "</script><script>document.title='owned'</script>", "${1}{{.}}",
    "a".repeat(900), "&lt;b&gt;", "-->", "מלפפון عصير", "line\nline\nline",
  ];
  const o = (i, e) =>
    order(i, evil.map((name) => ({ name, seat: e, course: e, of: e, notes: [{ text: name, alarm: true }] })), {
      number: e, table: e, type: e, dine_in: false, server: e, also_at: [e], bumped_clock: e,
      courses: [e], alarms: [{ text: e, job: 1, item: 0 }],
      voids: [{ job: 1, clock: "19:30", lines: [e], how: "unmatched", bumped_clock: "19:00" }],
      parts: [{ station: "x", title: e, told: "held", why: e, at: e, state: "held", lines: [{ text: e }] }],
    });
  for (const pass of [false, true]) {
    server.setup.pass = pass;
    server.orders = evil.map((e, i) => o(i, e));
    server.recall = [{ ...o(50, evil[0]), state: "bumped", departure: 1, departed_at: Date.now() }];
    server.events = evil.map((e) => ({ at: 1, clock: e, what: "item_done", item: e, station: e }));
    const variants = [{ quantity: evil[0], modifiers: evil }];
    server.counts = evil.map((name) => ({ name, quantity: name, orders: 2, variants }));
    const page = await open(browser, server, "hot-line");
    const beside = await page.$$eval(".row .marks > *", (l) =>
      l.filter((m) => m.getBoundingClientRect().right > m.closest(".row").getBoundingClientRect().right).length);
    equal(beside, 0, "marks of a row, such as ALLERGY, that a long name pushes off it");
    for (const key of ["a", "c", "Shift+R"]) {
      await page.keyboard.press(key);
      await page.waitForSelector("dialog .content *");
      await page.keyboard.press("Escape");
    }
    await page.keyboard.press("1");
    if (pass) await page.keyboard.press("Enter");
    assert((await page.innerText("#board")).includes(evil[0]), "it is shown as it is written");
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
