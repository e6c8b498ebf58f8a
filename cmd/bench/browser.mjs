// Pages of one screen in a headless browser: node browser.mjs CHROMIUM MODULES URL PAGES
// It says on its output that there is a browser, that all pages are live, and then the number of
// each ticket that a page has drawn, with the moment; when its input ends, it does too. With the
// second and the last it says how many seconds of processor time the browser has used.

import { createRequire } from "node:module";

const [executablePath, modules, url, pages] = process.argv.slice(2);
const { chromium } = createRequire(modules + "/x.js")("playwright-core");
process.on("uncaughtException", (e) => {
  console.error(e.message.replace(/\x1b\[\d+m/g, ""));
  process.exit(1);
});
const say = (...words) => process.stdout.write(words.join(" ") + "\n");

const browser = await chromium.launch({ executablePath, args: ["--no-sandbox", "--autoplay-policy=no-user-gesture-required"] });
say("browser", browser.version());
const root = await browser.newBrowserCDPSession();
async function used() {
  const { processInfo } = await root.send("SystemInfo.getProcessInfo");
  return processInfo.reduce((sum, p) => sum + p.cpuTime, 0);
}
process.stdin.resume().on("end", async () => {
  say("used", await used());
  await browser.close();
  process.exit(0);
});

// look runs in the page. It is a cook who always wants to see the newest ticket: who turns to the
// last page of cards when there is one, and tells what is on it when the browser has drawn that.
function look() {
  const told = new Set();
  const see = () => {
    const next = document.getElementById("next");
    while (next && !next.disabled && document.getElementById("live").className === "is") {
      const before = document.getElementById("where").textContent;
      document.dispatchEvent(new Event("pointerdown"));
      next.click();
      if (document.getElementById("where").textContent === before) break;
    }
    for (const card of document.querySelectorAll(".column:not(.measure) article.card")) {
      if (!card.dataset.key || told.has(card.dataset.key)) continue;
      told.add(card.dataset.key);
      // The next callback of a frame, and what it puts off, come when the card's frame is out.
      const number = card.querySelector("h2").textContent;
      requestAnimationFrame(() => setTimeout(() => window.ticketDrawn(number, Date.now())));
    }
  };
  new MutationObserver(see).observe(document, { childList: true, subtree: true });
}

await Promise.all(Array.from({ length: Number(pages) }, async () => {
  const context = await browser.newContext({ viewport: { width: 1280, height: 800 } });
  await context.exposeBinding("ticketDrawn", (_, number, at) => say("drawn", number, at));
  await context.addInitScript(look);
  const page = await context.newPage();
  page.on("pageerror", (e) => { throw e; });
  await page.goto(url);
  await page.waitForSelector("#live.is", { timeout: 30000 });
}));
say("live", await used());
