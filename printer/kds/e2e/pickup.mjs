// The pickup board: what guests read who wait for what they take away.

import { assert, contrasts, equal, open, order, passes, press, show, until, violations, watch } from "./harness.mjs";

const numbers = (page, list) => page.$$eval("#" + list + " li", (l) => l.map((e) => e.textContent));

export async function guestsReadTheirNumberUntilItIsSentOut(server, browser) {
  const takeaway = (n) => ({
    ...order(n), table: "Priya " + n, type: "Takeaway", customer: "Priya", age: Math.max(0, 60 - n),
  });
  await server.put("hot-line", takeaway(41), takeaway(43), { ...order(12), table: "4" }, takeaway(44));
  const context = await browser.newContext({ viewport: { width: 1920, height: 1080 } });
  const page = await watch(await context.newPage());
  await page.goto(server.url + "/screen/pass/pickup");
  const reads = (what, preparing, ready) =>
    until(what, async () => (await numbers(page, "preparing")) + "|" + (await numbers(page, "ready")) ===
      preparing + "|" + ready);
  await reads("what is prepared", "41,43,44", "");
  assert(!/Priya|Burger/.test(await page.content()), "it says more than numbers");

  const hot = await open(browser, server, "hot-line", { viewport: { width: 1920, height: 1080 } });
  await press(hot, "#43", ".act");
  await reads("what is ready", "41,44", "43");
  for (const colorScheme of ["dark", "light"]) {
    await page.emulateMedia({ colorScheme });
    equal(await violations(page), [], "what axe finds: " + colorScheme);
    equal((await contrasts(page.locator("h1, li"))).filter(([, got]) => got < 7), [], "less than 7:1: " + colorScheme);
  }

  await server.kill();
  await passes(page, 13000); // two and a half heartbeats
  await page.locator("#cover").waitFor({ state: "visible" });
  equal(await violations(page), [], "what axe finds: NOT LIVE");
  equal((await contrasts(page.locator("#cover"))).filter(([, got]) => got < 7), [], "less than 7:1: NOT LIVE");
  await server.start();
  await page.locator("#cover").waitFor({ state: "hidden" });
  await reads("what is still ready", "41,44", "43");
  await server.put("hot-line", ...Array.from({ length: 40 }, (_, i) => takeaway(500 + i)));
  await until("all of them", async () => (await numbers(page, "preparing")).length === 42);
  const { cut, least } = await page.evaluate(() => {
    const list = [...document.querySelectorAll("li")];
    const of = (e) => e.parentElement.getBoundingClientRect();
    const isCut = (e, r = e.getBoundingClientRect()) => r.bottom > of(e).bottom || r.right > of(e).right;
    return {
      cut: list.filter((e) => isCut(e)).map((e) => e.textContent),
      least: Math.min(...list.map((e) => parseFloat(getComputedStyle(e).fontSize))),
    };
  });
  equal(cut, [], "numbers that are cut");
  assert(least >= 60, "letters of " + least + " px"); // 20 minutes of arc at three metres, on 32 inches
}

export async function sevenPickupBoardsOfOneBrowserDoNotSilenceEachOther(server, browser) {
  await server.put("hot-line", { ...order(41), table: "Priya", type: "Takeaway" });
  const context = await browser.newContext();
  const tabs = [];
  for (let n = 1; n <= 7; n++) {
    const tab = await watch(await context.newPage());
    await tab.goto(server.url + "/screen/pass/pickup");
    await until("tab " + n + " has it", async () => String(await numbers(tab, "preparing")) === "41");
    if (n < 7) await show(tab, false);
    tabs.push(tab);
  }

  await server.put("hot-line", { ...order(42), table: "Ann", type: "Takeaway" });
  for (const tab of [tabs[6], tabs[0]]) {
    await show(tab, true);
    await until("it has the new one", async () => String(await numbers(tab, "preparing")) === "41,42");
    await tab.locator("#cover").waitFor({ state: "hidden" });
  }
}
