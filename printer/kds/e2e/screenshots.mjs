// Screenshots for people to look at: the screens that kitchens have, few and many orders. all.mjs does not
// run it: KDS_E2E_MODULES=~/.cache/ticketrail/browser node e2e/screenshots.mjs [part of a name]

import { join } from "node:path";
import { SCREENS, browse, change, open, shots } from "./harness.mjs";
import { Canned, bowl, cannedOrder as order } from "./canned.mjs";
import { atThePass, evening } from "./evening.mjs";

// hard returns orders that are difficult to draw.
function hard() {
  const nuts = "אלרגיה לאגוזים · 花生過敏";
  const dishes = [
    "宮保雞丁套餐配白飯", "شاورما دجاج مع بطاطا", "קציצות ברוטב עגבניות", "ต้มยำกุ้งน้ำข้น", "पनीर टिक्का मसाला", "Ørret i smør",
  ].map((name, i) => ({ name, notes: i === 1 ? [{ text: nuts, alarm: true }] : [] }));
  const long = [
    "Slow-roasted Moroccan lamb shoulder for two with pomegranate, pistachio and labneh",
    "Donaudampfschifffahrtsgesellschaftskapitänsschnitzel",
  ];
  const names = { number: "#ORDER-2026-000001234", table: "Table Bartholomew-Christopherson", dine_in: false };
  const struck = Array.from({ length: 10 }, (_, i) => ({
    name: "Cancelled dish number " + (i + 1), void: true,
  }));
  const lines = struck.map((s) => "1 " + s.name);
  const voids = [{ job: 90, clock: "19:40", lines, bumped_clock: "19:05" }];
  const lost = [{ job: 91, clock: "19:41", changed: true }];
  const party = Array.from({ length: 12 }, (_, i) => ({
    name: "Set menu " + (i + 1), course: i < 6 ? "Starters" : "Mains", seat: String(1 + (i % 6)),
  }));
  return [
    bowl(1),
    order(2, dishes, { alarms: [{ text: nuts, job: 1, item: 1 }], age: 700 }),
    order(3, long, { ...names, type: "Delivery by UberEats", rush: true }),
    order(4, struck, { voids, must_ack_void: true, age: 500 }),
    order(5, party, { courses: ["Starters", "Mains"] }),
    order(6, [], { voids: lost, must_ack_void: true }),
  ];
}

const boards = {
  3: evening(3), 12: evening(12), 40: evening(40), 200: evening(200), hard: hard(),
  "pass-12": evening(12).map(atThePass), "pass-52": evening(52).map(atThePass), "pass-hard": hard().map(atThePass),
};
const browser = await browse();
for (const [name, orders] of Object.entries(boards))
  for (const [width, height] of [...SCREENS, [390, 844]])
    for (const colorScheme of ["dark", "light"]) {
      const file = (what) => [name, width, colorScheme].join("-") + what;
      if (process.argv[2] && !file("").includes(process.argv[2])) continue;
      const server = await Canned.open();
      server.setup.pass = name.startsWith("pass");
      server.orders = orders;
      const page = await open(browser, server, "hot-line", { viewport: { width, height }, colorScheme });
      const shot = (what) => page.screenshot({ path: join(shots, file(what) + ".png") });
      await shot("");
      if (name === "pass-12") {
        await page.locator("#board .row .number").nth(4).click();
        await shot("-opened");
      }
      for (let n = 2; (name === "hard" || name === "pass-hard") && n < 9; n++) {
        if (!(await page.isVisible("#next")) || (await page.isDisabled("#next"))) break;
        await page.keyboard.press("PageDown");
        await shot("-page" + n);
      }
      if (name === "hard" && width === 390) {
        await page.click("#board .row >> nth=0");
        await shot("-opened");
      }
      if (name === "12" && width === 1280)
        for (const key of ["d", "a", "s", "h", "c", "Shift+R"]) {
          if (key === "d") await page.keyboard.press("2");
          await page.keyboard.press(key);
          await page.waitForSelector("dialog .content *");
          await shot("-" + key);
          await page.keyboard.press("Escape");
        }
      if (name === "40" && width === 1920) {
        await change(page, { allday: "strip" });
        await shot("-strip");
      }
      await page.context().close();
      await server.kill();
    }
await browser.close();
console.log(shots);
