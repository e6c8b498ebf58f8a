// The page for managers, with the whole daemon behind it: what is wrong, and what a person without a shell does
// about it, on a phone.

import { AxeBuilder, assert, equal, freePort, shots, until, watch } from "./harness.mjs";
import { Daemon } from "./daemon.mjs";
import net from "node:net";
import { join } from "node:path";

const PHONE = { viewport: { width: 360, height: 740 }, hasTouch: true };

// evening is a daemon with a printer that is switched off, one that breaks off each ticket, and one that works.
async function evening(dir, f) {
  const off = await freePort();
  const breaks = net.createServer((c) => c.on("error", () => {}).once("data", () => c.resetAndDestroy()));
  await new Promise((done) => breaks.listen(0, "127.0.0.1", done));
  const d = await Daemon.open(
    dir,
    `
printers:
  - { name: grill, address: "tcp://127.0.0.1:${off}" }
  - { name: bar, address: "tcp://127.0.0.1:${breaks.address().port}", on_doubt: hold, confirm: none }
  - { name: pass, address: "file://PAPER" }
screens: [ { name: hot-line, title: "Hot line" } ]
routes:
  - { when: 'item.name startsWith "Steak"', to: [grill] }
  - { when: 'item.name startsWith "Beer"', to: [bar] }
  - { to: [pass] }
`,
  );
  try {
    await f(d);
  } catch (e) {
    throw new Error(e.stack + "\n" + d.log);
  } finally {
    await d.kill();
    breaks.close();
  }
}

const jobs = (d) => JSON.parse(d.ask("jobs", "list", "--json"));
const states = (d, station) => jobs(d).filter((j) => j.station === station).map((j) => j.state);

export async function aManagerMendsAnEveningOnAPhone(server, browser) {
  await evening(server.dir, async (d) => {
    await d.order(1, "Steak");
    await d.order(2, "Steak", "Soup");
    await d.order(3, "Beer");
    const page = await watch(await (await browser.newContext(PHONE)).newPage());
    await page.goto(d.url + "/");
    await page.waitForSelector("#held > li", { timeout: 20000 });
    await page.screenshot({ path: join(shots, "manage-phone-evening.png"), fullPage: true });

  });
}
