// What cooks do, in a real browser, one after the other. Each story has its own kitchen page; the
// first that fails is told, with a picture.

import { join } from "node:path";
import { Kitchen, browse, shots } from "./kitchen.mjs";
import * as board from "./board.mjs";
import * as truth from "./truth.mjs";
import * as door from "./door.mjs";

const only = process.argv[2] || process.env.KDS_E2E_ONLY;
const browser = await browse();
let failed = 0;
for (const stories of [board, truth, door]) for (const [name, story] of Object.entries(stories)) {
  if (only && !name.includes(only)) continue;
  const kitchen = await Kitchen.open();
  const start = Date.now();
  try {
    await story(kitchen, browser);
    for (const c of browser.contexts()) for (const p of c.pages()) {
      if (p.wrong && p.wrong.length) throw new Error("the console says: " + p.wrong.join("; "));
    }
    console.log("ok   " + name + " (" + (Date.now() - start) + " ms)");
  } catch (e) {
    failed++;
    console.log("FAIL " + name + ": " + (e.stack || e));
    for (const c of browser.contexts()) for (const p of c.pages()) {
      await p.screenshot({ path: join(shots, "failed-" + name + ".png"), timeout: 3000 }).catch(() => {});
    }
  }
  for (const c of browser.contexts()) await c.close();
  await kitchen.kill();
}
await browser.close();
process.exit(failed ? 1 : 0);
