// The screens in other languages: all of their own texts are, and longer words leave everything legible.

import {
  PATIENCE, SCREENS, SILENCE, chip, clipped, equal, latinWords, live, open, passes, resize, row, theEdgeIsLegible,
} from "./harness.mjs";
import { cannedOrder as order } from "./canned.mjs";
import { marked, withParts } from "./evening.mjs";

// brokenWords are the words of buttons and of what the pass says that do not fit into a line.
const brokenWords = (page) =>
  page.$$eval("#bar button, .act, .tick, .says", (list) => {
    const broken = [];
    for (const e of list) {
      const walk = document.createTreeWalker(e, NodeFilter.SHOW_TEXT);
      while (walk.nextNode())
        for (const { 0: text, index } of walk.currentNode.textContent.matchAll(/\S+/g)) {
          const range = document.createRange();
          range.setStart(walk.currentNode, index);
          range.setEnd(walk.currentNode, index + text.length);
          if (new Set(Array.from(range.getClientRects(), (r) => r.top)).size > 1) broken.push(text);
        }
    }
    return broken;
  });

// inAll opens the page in German, whose words are long, and in Chinese, looks at it in all sizes, and calls
// then(page, check, at) in the smallest that is no phone's. check(what) looks at the texts.
async function inAll(server, browser, then) {
  server.setup.title = "魚";
  for (const language of ["de", "zh"]) {
    server.setup.language = language;
    const page = await open(browser, server, "hot-line");
    for (const [width, height] of [[390, 844], ...SCREENS]) {
      await resize(page, width, height);
      const at = " at " + width + " in " + language;
      const check = async (what) => {
        if (language !== "zh") return equal(await brokenWords(page), [], "words over two lines of " + what + at);
        equal(await latinWords(page), null, "Latin words of " + what + at);
      };
      equal(await page.getAttribute("html", "lang"), language, "the language that a screen reader is told");
      await chip(page, "unseen").waitFor();
      await theEdgeIsLegible(page, at);
      equal(await clipped(page), [], "what is cut off" + at);
      const beside = await page.$$eval(".row .act, .row .marks > *", (l) =>
        l.filter((e) => {
          const [is, row] = [e, e.closest(".row")].map((e) => e.getBoundingClientRect());
          return is.left < row.left + 4 || is.right > row.right - 4;
        }).map((e) => e.textContent));
      equal(beside, [], "what is beside its row, or on its edge" + at);
      await check("all");
      if (width === 1024) await then(page, check, at);
    }
    await page.context().close();
  }
}

export async function theTextsOfAScreenAreInItsLanguageAndLegible(server, browser) {
  server.orders = marked();
  server.recall = [
    order(50, ["魚"], { state: "bumped", departure: 1, departed_at: Date.now() }),
    order(51, ["魚"], { state: "elsewhere", departure: 2, departed_at: Date.now(), ticket: { paper: "9" } }),
  ];
  server.counts = [{ name: "魚", quantity: "2", orders: 1 }, { name: "肉", quantity: "2", orders: 2, later: true }];
  const happened = ["accepted", "came", "seen", "paper", "item_done", "ack_void", "bump", "recall", "ticked"];
  server.events = happened.map((what) => ({ at: 1, clock: "19:30", what, station: "7", item: "1 魚", paper: "9" }));
  await inAll(server, browser, async (page, check, at) => {
    for (const key of ["d", "a", "s", "h", "c", "Shift+R"]) {
      if (key === "d") await page.keyboard.press("1");
      await page.keyboard.press(key);
      await page.waitForSelector("dialog .content *");
      const beside = await page.$$eval("dialog .content *", (l) =>
        l.filter((e) => e.getBoundingClientRect().right > innerWidth).map((e) => e.textContent));
      equal(beside, [], "what is beside the panel " + key + at);
      await check("panel " + key);
      await page.keyboard.press("Escape");
    }
    page.wrong = [];
    server.refuse.add("/shown");
    await passes(page, SILENCE);
    await page.waitForSelector("body.notlive.usable", { timeout: PATIENCE });
    await check("not live");
    server.refuse.delete("/shown");
    await live(page);
    page.wrong = []; // the answers that were refused
  });
  equal(server.commands(), [], "what the keys change");
}

export async function theTextsOfThePassAreInItsLanguageAndLegible(server, browser) {
  server.setup.pass = true;
  server.orders = marked().map(withParts);
  await inAll(server, browser, async (page, check) => {
    await row(page, "#6").locator(".number").click();
    await check("opened");
  });
}
