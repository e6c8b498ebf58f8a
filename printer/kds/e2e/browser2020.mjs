// A browser of 2020, imitated by one of today without what browsers did not have then.

import { assert, equal, heads, live, order, until, watch } from "./harness.mjs";

// removeNewFeatures takes away what browsers of 2020 on kitchen walls do not have.
function removeNewFeatures() {
  for (const name of ["show", "showModal", "close"]) delete HTMLDialogElement.prototype[name];
  for (const name of ["at", "findLast", "findLastIndex", "toSorted", "toReversed", "toSpliced", "with", "group"])
    delete Array.prototype[name];
  for (const name of ["at", "replaceAll", "matchAll", "isWellFormed"]) delete String.prototype[name];
  for (const name of ["replaceChildren", "checkVisibility", "getAnimations"]) delete Element.prototype[name];
  for (const name of ["hasOwn", "groupBy", "fromEntries"]) delete Object[name];
  for (const name of ["any", "withResolvers", "try"]) delete Promise[name];
  for (const name of ["timeout", "any"]) delete AbortSignal[name];
  for (const name of ["structuredClone", "scheduler", "navigation", "reportError"]) delete window[name];
  delete Crypto.prototype.randomUUID;
  delete Navigator.prototype.wakeLock;
  delete Document.prototype.startViewTransition;
  navigator.sendBeacon = () => {
    throw new DOMException("disabled temporarily", "SecurityError");
  };
  // Pages cannot store anything either.
  for (const name of ["localStorage", "sessionStorage"])
    Object.defineProperty(window, name, {
      get() {
        throw new DOMException("denied", "SecurityError");
      },
    });
}

export async function aBrowserOf2020CanDoEverything(server, browser) {
  await server.put("hot-line", order(1), order(2), order(3));
  const context = await browser.newContext({ viewport: { width: 1024, height: 600 } });
  await context.addInitScript(removeNewFeatures);
  const page = await watch(await context.newPage());
  await page.goto(server.url + "/screen/hot-line");
  await live(page);
  equal(await heads(page), ["#1", "#2", "#3"], "the board");
  await page.keyboard.press("1");
  await page.keyboard.press("Enter");
  await until("it is bumped", async () => String(await heads(page)) === "#2,#3");
  await page.keyboard.press("u");
  await until("it is back", async () => String(await heads(page)) === "#1,#2,#3");
  for (const [key, name, says] of [
    ["F8", "allday", "Burger"],
    ["s", "settings", "Display kept on"],
    ["h", "help", "Bump"],
    ["Shift+R", "recall", "Nothing left the board"],
  ]) {
    await page.keyboard.press(key);
    await until(name + " is open", async () => (await page.innerText(".panel." + name)).includes(says));
    const box = await page.locator(".panel." + name).boundingBox();
    assert(box.y >= 0 && box.y + box.height <= 600 && box.width > 300, name + " lies at " + JSON.stringify(box));
    await page.keyboard.press("Escape");
    equal(await page.locator(".panel").count(), 0, "open panels after " + name);
  }
  await page.keyboard.press("2");
  await page.keyboard.press("Enter");
  await until("it is bumped", async () => String(await heads(page)) === "#1,#3");
  await page.click("#recall");
  await page.click(".panel.recall .row");
  await until("it is back in its place", async () => String(await heads(page)) === "#1,#2,#3");
  equal(await page.locator(".panel").count(), 0, "open panels in the end");
  await until("it is live", async () => (await server.status("hot-line")).status.live === 1);
  await page.goto("about:blank");
  await until("it has gone", async () => (await server.status("hot-line")).status.live === 0);
}
