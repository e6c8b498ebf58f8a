// Screenshots for people to look at: the screens that kitchens have, few and many orders. all.mjs does not
// run it: KDS_E2E_MODULES=~/.cache/ticketrail/browser node e2e/screenshots.mjs

import { join } from "node:path";
import { SCREENS, browse, open, set, shots } from "./harness.mjs";
import { Canned } from "./canned.mjs";
import { evening } from "./evening.mjs";

const browser = await browse();
for (const n of [3, 12, 40, 200])
  for (const [width, height] of [...SCREENS, [390, 844]])
    for (const colorScheme of ["dark", "light"]) {
      const server = await Canned.open();
      server.orders = evening(n);
      const page = await open(browser, server, "hot-line", { viewport: { width, height }, colorScheme });
      const shot = (what) => page.screenshot({ path: join(shots, [n, width, colorScheme + what].join("-") + ".png") });
      await shot("");
      if (n === 12 && width === 1280)
        for (const key of ["d", "a", "s", "h", "c", "Shift+R"]) {
          if (key === "d") await page.keyboard.press("2");
          await page.keyboard.press(key);
          await page.waitForSelector("dialog .content *");
          await shot("-" + key);
          await page.keyboard.press("Escape");
        }
      if (n === 40 && width === 1920) {
        await set(page, { allday: "strip" });
        await page.reload();
        await page.waitForSelector("#live.is");
        await shot("-strip");
      }
      await page.context().close();
      await server.kill();
    }
await browser.close();
console.log(shots);
