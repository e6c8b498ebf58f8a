// What cooks do, in a real browser. Each story has a kitchen and a browser of its own; of one that
// fails there is a picture. Stories mostly wait, so a few are told at a time.

import { join } from "node:path";
import { Kitchen, browse, shots } from "./kitchen.mjs";
import * as daemon from "./daemon.mjs";
import * as board from "./board.mjs";
import * as truth from "./connection.mjs";
import * as door from "./pairing.mjs";
import * as old from "./browser2020.mjs";

const only = process.argv[2] || (process.env.KDS_E2E !== "1" && process.env.KDS_E2E);
const stories = [truth, daemon, board, door, old]
  .flatMap((m) => Object.entries(m))
  .filter(([name]) => !only || name.includes(only));
let failed = 0;

async function tell(name, story) {
  const start = Date.now();
  const [kitchen, browser] = [await Kitchen.open(), await browse()];
  const pages = () => browser.contexts().flatMap((c) => c.pages());
  try {
    await story(kitchen, browser);
    const wrong = pages().flatMap((p) => p.wrong || []);
    if (wrong.length) throw new Error("the console says: " + wrong.join("; "));
    console.log("ok   " + name + " (" + (Date.now() - start) + " ms)");
  } catch (e) {
    failed++;
    console.log("FAIL " + name + ": " + (e.stack || e));
    let n = 0;
    for (const p of pages())
      await p.screenshot({ path: join(shots, "failed-" + name + "-" + ++n + ".png"), timeout: 3000 }).catch(() => {});
  }
  await browser.close();
  await kitchen.kill();
}

async function worker() {
  for (let next = stories.shift(); next; next = stories.shift()) await tell(...next);
}

const total = stories.length;
await Promise.all([worker(), worker(), worker()]);
console.log(total - failed + " of " + total + " stories are true");
process.exit(failed || !total ? 1 : 0);
