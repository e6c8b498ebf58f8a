// Everybody can read and press everything: axe, the size of buttons, and the contrast of what must not be missed.

import {
  PATIENCE, SCREENS, SILENCE, assert, change, contrasts, equal, live, open, passes, resize, row, violations,
} from "./harness.mjs";
import { bowl, cannedOrder as order } from "./canned.mjs";
import { evening, marked, withParts } from "./evening.mjs";

export const aDarkBoardIsAccessible = (server, browser) => accessible(server, browser, false, "dark");
export const aLightBoardIsAccessible = (server, browser) => accessible(server, browser, false, "light");
export const aDarkPassIsAccessible = (server, browser) => accessible(server, browser, true, "dark");
export const aLightPassIsAccessible = (server, browser) => accessible(server, browser, true, "light");
export const aBoardOfEachSizeIsAccessible = (server, browser) => eachSize(server, browser, false);
export const aPassOfEachSizeIsAccessible = (server, browser) => eachSize(server, browser, true);

// URGENT are the places of the words NOT LIVE, ALLERGY and VOID, and of what they say.
const URGENT = "#cover p, #live.not, .voided, .alarm, .section.void, .line.void .name, .line.void .badge, .act.ack, " +
  ".banner.void, .chip.void, .chip.allergy";

// prepare gives a server orders in every state.
function prepare(server, pass) {
  server.setup.pass = pass;
  const all = [...marked(pass ? 30 : 50), ...evening(9), bowl(70)]; // a row of a pass has nine parts
  const late = { bumped_clock: "19:10", ticket: { added: true, clock: "19:20" } };
  all.unshift(order(71, [{ name: "Soup", void: true }], late));
  server.orders = pass ? all.map(withParts) : all;
  server.recall = [
    order(80, ["Soup"], { state: "elsewhere", departure: 5, departed_at: Date.now(), ticket: { paper: "grill" } }),
    order(81, ["Pie"], { state: "bumped", departure: 6, departed_at: Date.now() }),
  ];
  const variants = [{ quantity: "3", modifiers: ["no onions"] }];
  const pie = { name: "Pie", quantity: "2", orders: 1, later: true };
  server.counts = [{ name: "Burger", quantity: "12", orders: 9, variants }, pie];
  server.events = [{ at: 1, clock: "19:30", what: "accepted" }];
}

// checkOf returns a check of the page, or of one of its elements.
const checkOf = (page, pass) => async (what, within) => {
  equal(await violations(page, within), [], "what axe finds: " + what + " at " + page.viewportSize().width);
  const urgent = await contrasts(page.locator(URGENT));
  assert(urgent.length > 0 || pass, "nothing is urgent: " + what);
  equal(urgent.filter(([, got]) => got < 7), [], "what has less than 7:1: " + what);
};

// theDoneIsLegible fails if what the pass says of parts that are done has a contrast of less than 4.5:1.
async function theDoneIsLegible(page, ...selectors) {
  for (const selector of selectors) {
    const got = await contrasts(page.locator(".list, .column:not(.measure)").locator(selector));
    assert(got.length > 0, "there is no " + selector);
    equal(got.filter(([, contrast]) => contrast < 4.5), [], "what has less than 4.5:1: " + selector);
  }
}

async function eachSize(server, browser, pass) {
  prepare(server, pass);
  const page = await open(browser, server, "hot-line");
  for (const size of ["s", "m", "l", "xl"]) {
    await change(page, { size });
    await checkOf(page, pass)("size " + size);
  }
}

async function accessible(server, browser, pass, colorScheme) {
  prepare(server, pass);
  const page = await open(browser, server, "hot-line", { colorScheme });
  const check = checkOf(page, pass);
  const sizes = colorScheme === "dark" ? [...SCREENS, [390, 844]] : [[1280, 800]]; // light differs in its colours only
  for (const [width, height] of sizes) {
    await resize(page, width, height);
    await page.locator("#alerts .unseen").waitFor();
    await check("all orders");
    const small = await page.$$eval("button", (l) =>
      l
        .filter((b) => b.offsetParent && !b.closest(".measure") && !b.matches(".names"))
        .map((b) => [b.textContent, b.offsetWidth, b.offsetHeight])
        .filter(([, w, h]) => w < 48 || h < 48),
    );
    equal(small, [], "buttons smaller than 48 px at " + width);
    if (pass) await theDoneIsLegible(page, ".told.done", ".told.ticked", ".act.ready");
    if (pass || width < 600) {
      await row(page, "#6").locator(".number").click();
      await check("an open order", "#board");
      if (pass) await theDoneIsLegible(page, ".station.done");
      await page.keyboard.press("Escape");
    }
    if (width === 1280) await everyState(page, server, check);
  }
}

// everyState checks the panels, all-day beside the board and instead of it, and both ways of NOT LIVE.
async function everyState(page, server, check) {
  for (const key of ["d", "a", "Shift+R", "s", "h", "c"]) {
    if (key === "d") await page.keyboard.press("1");
    await page.keyboard.press(key);
    await page.waitForSelector("dialog .content *");
    await check("panel " + key, "dialog"); // the orders behind it were checked
    await page.keyboard.press("Escape");
  }
  for (const allday of ["strip", "screen"]) {
    await change(page, { allday });
    await page.waitForSelector("#strip .counts li");
    await check("all-day as " + allday, "#strip");
  }
  await change(page, { allday: "panel" });

  page.wrong = [];
  server.refuse.add("/shown");
  await passes(page, SILENCE);
  await page.waitForSelector("body.notlive.usable", { timeout: PATIENCE });
  await check("NOT LIVE, and not heard");
  await page.keyboard.press("h");
  await page.waitForSelector("dialog .content *");
  await check("a panel that is NOT LIVE", "dialog");
  await page.keyboard.press("Escape");
  server.refuse.delete("/shown");
  await live(page);
  await server.kill();
  await passes(page, SILENCE);
  await page.waitForSelector("body.notlive:not(.usable)", { timeout: PATIENCE });
  await check("NOT LIVE without a server");
  await server.start();
  await live(page);
  page.wrong = []; // the answers that were refused
}

export async function nothingFlashesForWhoWantsNoMotion(server, browser) {
  const calm = await open(browser, server, "hot-line", { reducedMotion: "reduce" });
  server.put(order(40));
  await calm.waitForSelector(".card.new", { state: "attached" });
  equal(await calm.$eval(".card.new .head", (h) => getComputedStyle(h).animationName), "none", "no flashing");
}
