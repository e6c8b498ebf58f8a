// Which browsers may see a screen: pairing, revoking, and requests of other sites.

import { PATIENCE, assert, browse, equal, heads, live, open, order, until, violations } from "./harness.mjs";
import os from "node:os";

function lan() {
  for (const list of Object.values(os.networkInterfaces()))
    for (const a of list) if (a.family === "IPv4" && !a.internal) return a.address;
  return "";
}

export async function aTabletIsPairedAndRevoked(server, browser) {
  const address = lan();
  const base = "http://" + (address || "127.0.0.1") + ":" + server.port;
  await server.put("hot-line", order(1));
  const context = await browser.newContext(address ? {} : { extraHTTPHeaders: { "X-Forwarded-For": "10.1.2.3" } });
  const page = await context.newPage();
  await page.goto(base + "/screen/hot-line");
  const code = await page.textContent("#code");
  assert(/^[A-Z0-9]{4}-[A-Z0-9]{4}$/.test(code), "the code is " + code);
  equal(await violations(page), [], "the pairing page");
  assert(!(await page.content()).includes("hot-line"), "it does not say which stations there are");
  await page.reload();
  equal(await page.textContent("#code"), code, "the code after a reload");
  await server.ask("/pair?station=hot-line&code=" + code.toLowerCase().replace("-", " "));
  await live(page);
  equal((await heads(page)).length, 1, "orders on the board");
  const [cookie] = (await context.cookies()).filter((c) => c.name === "ticketrail_screen");
  equal([cookie.httpOnly, cookie.sameSite], [true, "Strict"], "the cookie");
  assert(cookie.expires - Date.now() / 1000 > 300 * 86400, "it lasts");
  equal((await page.request.get(base + "/screen/cold/state")).status(), 403, "another station");
  if (!(await page.evaluate(() => isSecureContext))) {
    await page.keyboard.press("s");
    assert((await page.innerText(".settings")).includes("needs HTTPS"), "it does not say that it cannot keep awake");
  }
  await server.kill();
  await server.start();
  await page.reload();
  await live(page);
  const [pairing] = await server.ask("/pairings");
  equal(pairing.station, "hot-line", "the pairing");
  await server.ask("/revoke?id=" + pairing.id);
  await page.waitForSelector("#code", { timeout: PATIENCE });
  equal((await page.request.get(base + "/screen/hot-line/state")).status(), 401, "after revoking");
  equal((await server.status("hot-line")).status.live, 0, "live pages");
}

export async function aManagerPairsATabletWithoutAShell(server, browser) {
  const address = lan();
  const context = await browser.newContext(address ? {} : { extraHTTPHeaders: { "X-Forwarded-For": "10.1.2.3" } });
  const tablet = await context.newPage();
  await tablet.goto("http://" + (address || "127.0.0.1") + ":" + server.port + "/manage");
  const code = await tablet.textContent("#code");
  for (const colorScheme of ["dark", "light"]) {
    const box = await (await browser.newContext({ colorScheme, viewport: { width: 1024, height: 600 } })).newPage();
    await box.goto(server.url + "/manage");
    await box.fill("#code", "AAAA-AAAA");
    await box.selectOption("#station", "hot-line");
    await box.click("#pair button");
    await box.waitForSelector("#state.failed");
    assert((await box.textContent("#state")).includes("no browser shows this code"), "it does not say why");
    equal(await violations(box), [], "the page in " + colorScheme);
  }
  const box = await browser.newPage();
  await box.goto(server.url + "/manage");
  assert(!(await box.content()).includes(code), "the code is on the page");
  await box.fill("#code", " " + code.toLowerCase());
  await box.selectOption("#station", "hot-line");
  await box.press("#code", "Enter");
  await tablet.waitForURL("**/screen/hot-line");
  const end = box.locator("button[data-id]");
  await end.waitFor();
  assert((await box.textContent("#state")).includes("now shows Hot line"), "it does not say what it did");
  await end.click();
  equal((await server.ask("/pairings")).length, 1, "pairings after one tap");
  await end.click();
  await tablet.waitForSelector("#code", { timeout: PATIENCE });
  equal(await box.locator("button[data-id]").count(), 0, "pairings on the page");
}

export async function aManagerReadsHowLongTicketsTook(server, browser) {
  await server.put("hot-line", order(1));
  const page = await (await browser.newContext()).newPage();
  await page.goto(server.url + "/manage");
  await page.click("text=How long tickets took");
  await page.waitForSelector("h2:has-text('Hot line')");
  equal(await violations(page), [], "the page of times");
}

export async function anotherSiteCannotSendCommands(server, browser) {
  await server.put("hot-line", order(1));
  const page = await open(browser, server, "hot-line");
  const evil = await browser.newPage();
  await evil.route("http://evil.example/", (r) => r.fulfill({ contentType: "text/html", body: "<h1>hello</h1>" }));
  await evil.goto("http://evil.example/");
  await evil.evaluate(
    (url) =>
      fetch(url + "/screen/hot-line/do", {
        method: "POST",
        mode: "no-cors",
        body: JSON.stringify({ id: "x", do: "bump", job: 1, version: 1 }),
        headers: { "Content-Type": "text/plain" },
      }).catch(() => {}),
    server.url,
  );
  await page.waitForTimeout(300);
  equal((await heads(page)).length, 1, "orders on the board");
}

export async function soundWaitsForATouch(server) {
  const strict = await browse(["--autoplay-policy=document-user-activation-required"]);
  try {
    const page = await open(strict, server, "hot-line");
    await page.waitForSelector("#enablesound:not([hidden])");
    await page.click("#enablesound");
    await page.waitForSelector("#enablesound", { state: "hidden" });
  } finally {
    await strict.close();
  }
}

export async function theDisplayIsKeptOnWhereTheBrowserAllowsIt(server, browser) {
  const context = await browser.newContext();
  await context.addInitScript(() => {
    window.asked = 0;
    const lock = {
      request: async () => {
        window.asked++;
        return new EventTarget();
      },
    };
    Object.defineProperty(navigator, "wakeLock", { value: lock });
  });
  const page = await context.newPage();
  await page.goto(server.url + "/screen/hot-line");
  await live(page);
  equal(await page.evaluate(() => window.asked), 1, "it asked");
  await page.evaluate(() => document.dispatchEvent(new Event("visibilitychange")));
  equal(await page.evaluate(() => window.asked), 2, "it asked again when it was seen again");
  await page.keyboard.press("s");
  assert((await page.innerText(".settings")).includes("Display kept on: on"), "the settings say so");
}
