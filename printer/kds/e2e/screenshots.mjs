// Screenshots for people to look at: every theme, two screen sizes, few and many tickets. all.mjs does
// not run it.

import { TestServer, browse, open, shots, order, item } from "./harness.mjs";
import { join } from "node:path";

const itemNames = [
  "Margherita",
  "Wagyu burger",
  "Barramundi, lemon butter",
  "Fish & chips",
  "Caesar salad",
  "Pad Thai",
  "Chicken schnitzel",
  "Mushroom risotto",
  "Steak frites 300 g",
  "Kids pasta",
  "Chocolate fondant",
  "Crème brûlée",
];
const mods = [
  "no onions",
  "extra cheese",
  "gluten free base",
  "sauce on the side",
  "medium rare",
  "swap chips for salad",
];

export function evening(n) {
  const out = [];
  for (let i = 0; i < n; i++) {
    const lines = [];
    for (let j = 0; j <= (i * 7) % 5; j++) {
      const course = j === 0 && i % 3 === 0 ? "Starters" : "Mains";
      lines.push(item(itemNames[(i * 5 + j * 3) % itemNames.length], (i + j) % 4 === 0 ? 2 : 1, { course }));
      if ((i + j) % 3 === 0) lines.push({ ...item(mods[(i + j) % mods.length]), d: 1 });
      if ((i + j) % 5 === 0)
        lines.push({ ...item(mods[(i + j + 2) % mods.length], 2), d: 1, notes: j ? ["well done please"] : undefined });
    }
    const t = order(i + 1, ...lines);
    t.age = Math.max(5, 640 - i * 53);
    if (i % 6 === 1) t.notes = ["SESAME ALLERGY seat 2"];
    if (i % 6 === 3) t.notes = ["birthday, candle please"];
    if (i === 4) t.lines[0].void = true;
    if (i === 6) t.type = "Take Away";
    if (i === 7) t.lines[0].refire = true;
    if (i === 8) {
      t.void = true;
      t.lines.forEach((l) => {
        l.void = true;
      });
    }
    out.push(t);
  }
  return out;
}

const browser = await browse();
for (const n of [1, 12, 200]) {
  const k = await TestServer.open();
  await k.put("hot-line", ...evening(n));
  if (n === 12) {
    await k.ask("/put", { Station: "hot-line", Doubt: true, Tickets: [order(40)] });
    await k.ask("/put", { Station: "hot-line", For: "grill", Tickets: [order(41)] });
    await k.put("hot-line", { ...order(1, item("Garlic bread", 2)), request: "another" });
    await k.put(
      "cold",
      order(1, item("Caesar salad", 2)),
      order(2, item("Oysters", 12, { notes: ["shellfish allergy at table"] })),
      order(50, item("Sashimi")),
    );
  }
  for (const [width, height] of [
    [1280, 800],
    [1920, 1080],
  ])
    for (const colorScheme of ["dark", "light"]) {
      const page = await open(browser, k, "hot-line", { viewport: { width, height }, colorScheme });
      await page.waitForTimeout(300);
      const name = [n, width, colorScheme].join("-");
      await page.screenshot({ path: join(shots, name + ".png") });
      if (n === 12 && width === 1280) {
        await page.keyboard.press("3");
        await page.screenshot({ path: join(shots, name + "-selected.png") });
        for (const [key, what] of [
          ["a", "allday"],
          ["s", "settings"],
          ["h", "help"],
          ["c", "course"],
        ]) {
          await page.keyboard.press(key);
          await page.waitForTimeout(250);
          await page.screenshot({ path: join(shots, name + "-" + what + ".png") });
          await page.keyboard.press("Escape");
        }
        await page.keyboard.press("1");
        await page.keyboard.press("Enter");
        await page.waitForTimeout(500);
        await page.screenshot({ path: join(shots, name + "-bumped.png") });
        await page.keyboard.press("Shift+R");
        await page.waitForTimeout(250);
        await page.screenshot({ path: join(shots, name + "-recall.png") });
        await page.keyboard.press("Escape");
        await page.keyboard.press("u");
        await page.waitForTimeout(300);
        const pass = await open(browser, k, "pass", { viewport: { width, height }, colorScheme });
        await pass.waitForTimeout(300);
        await pass.screenshot({ path: join(shots, "pass-" + colorScheme + ".png") });
        await pass.context().close();
      }
      if (page.wrong.length) console.log(name, page.wrong);
      await page.context().close();
    }
  if (n === 12) {
    const plain = await browser.newContext({ javaScriptEnabled: false, viewport: { width: 1280, height: 800 } });
    const page = await plain.newPage();
    await page.goto(k.url + "/screen/hot-line");
    await page.screenshot({ path: join(shots, "nojs.png") });
    await page.goto(k.url + "/");
    await page.screenshot({ path: join(shots, "start.png") });
    await plain.setExtraHTTPHeaders({ "X-Forwarded-For": "10.0.0.9" });
    await page.goto(k.url + "/");
    await page.screenshot({ path: join(shots, "pairing.png") });
    const cover = await open(browser, k, "hot-line");
    await k.kill();
    await cover.waitForSelector("body.notlive", { timeout: 14000 });
    await cover.screenshot({ path: join(shots, "notlive.png") });
    continue;
  }
  await k.kill();
}
await browser.close();
