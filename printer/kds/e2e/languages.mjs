// The screens in other languages: all of their own texts are, and longer words leave everything legible.

import { join } from "node:path";
import {
  PATIENCE, SCREENS, chip, clipped, equal, live, open, row, shots, theEdgeIsLegible,
} from "./harness.mjs";
import { cannedOrder as order } from "./canned.mjs";

// orders have every mark that a card can have. No letter of their data is Latin.
function orders() {
  const unusual = {
    for: "7", down: "printer", refused_by: ["8"], duplicate: true, reprint: true, refire: true, no_route: true,
    paper: "9", added: true, clock: "19:40", notes: [],
  };
  const fish = [
    { name: "魚", seat: "2", course: "甲" }, { name: "肉", void: true, course: "乙" }, { name: "米", refire: true },
    { name: "菜", no_route: true, fire: Date.now() + 3600e3 },
  ];
  const alarm = { alarms: [{ text: "花生", job: 1 }], must_ack_alarm: true };
  const voids = [{ job: 90, clock: "19:40", lines: ["1 肉", "1 魚", "1 米", "1 菜"], bumped_clock: "19:05" }];
  const list = [
    order(1, fish, { courses: ["甲", "乙"], ticket: unusual, bumped_clock: "19:10", also_at: ["7"], rush: true }),
    order(2, ["魚"], { voids, must_ack_void: true }),
    order(3, ["魚"], { ...alarm, age: 400 }),
    order(4, [], { voids: [{ job: 91, clock: "19:41", changed: true, acked: true, acked_at: 1 }] }),
    order(5, [{ name: "魚", fire: -1 }]),
    order(6, ["魚"], { age: 900, alarms: alarm.alarms, alarm_acked_at: 1 }),
    order(7, ["魚"], { number: "", kind: "test" }),
    order(8, ["魚"], { number: "", table: "", kind: "slip" }),
    ...Array.from({ length: 50 }, (_, i) => order(9 + i, ["魚", "肉", "米"])),
    order(60, ["魚"], { voids, must_ack_void: true }), order(61, ["魚"], alarm), order(62, ["魚"], { age: 900 }),
    order(63, ["魚"], { ticket: { seen: 0, at: 1 } }),
  ];
  return list.map((o) => ({ ...o, server: "王", venue: "海", type: "堂" }));
}

function atThePass(o, i) {
  const part = (station, kind, state, more) => ({ station, title: station, kind, state, text: station, ...more });
  const parts = [
    part("1", "screen", "open", { left: 3 }), part("2", "screen", "done"), part("3", "paper", "out"),
    part("4", "display", "out"), part("5", "paper", "held"), part("6", "paper", "expired"), part("7", "paper", "wait"),
    part("8", "paper", "gone"),
  ];
  return { ...o, parts, ready: i === 1, cancelled: i === 2, must_ack_alarm: false, must_ack_void: false };
}

// THEIRS are the Latin words of a page in Chinese that are names, or stand on the keys of a keyboard.
const THEIRS = /ticketrail|HTTPS|JavaScript|XL|Shift|Esc|PageUp|PageDown|Home|End/g;

// inAll opens the page in German, whose words are long, and in Chinese on all screens, and calls then(page, check, at)
// on the smallest that is no phone. check(what) looks at the texts, and takes a screenshot.
async function inAll(server, browser, then) {
  server.setup.title = "魚";
  for (const language of ["de", "zh"])
    for (const [width, height] of [...SCREENS, [390, 844]]) {
      server.setup.language = language;
      const [at, name] = [" at " + width + " in " + language, server.setup.pass ? "pass" : "board"];
      const page = await open(browser, server, "hot-line", { viewport: { width, height } });
      const check = async (what) => {
        await page.screenshot({ path: join(shots, [language, name, width, what].join("-") + ".png") });
        if (language !== "zh") return;
        const text = await page.evaluate(() => {
          const labels = Array.from(document.querySelectorAll("[aria-label]"), (e) => e.getAttribute("aria-label"));
          return [document.body.innerText, ...labels].join(" ");
        });
        equal(text.replace(THEIRS, "").match(/[A-Za-z]{2,}/g), null, "Latin words of " + what + at);
      };
      equal(await page.getAttribute("html", "lang"), language, "the language that a screen reader is told");
      await chip(page, "unseen").waitFor();
      await theEdgeIsLegible(page, at);
      equal(await clipped(page), [], "what is cut off" + at);
      const beside = await page.$$eval(".row > *, .row .marks > *", (l) =>
        l.filter((e) => e.getBoundingClientRect().right > e.closest(".row").getBoundingClientRect().right).length);
      equal(beside, 0, "what is beside its row" + at);
      await check("all");
      if (width === 1024) await then(page, check, at);
      await page.context().close();
    }
}

export async function theTextsOfAScreenAreInItsLanguageAndLegible(server, browser) {
  server.orders = orders();
  server.recall = [
    order(50, ["魚"], { state: "bumped", off: 1, off_at: Date.now() }),
    order(51, ["魚"], { state: "elsewhere", off: 2, off_at: Date.now(), ticket: { paper: "9" } }),
  ];
  server.counts = [{ name: "魚", quantity: "2", orders: 1 }, { name: "肉", quantity: "2", orders: 2, later: true }];
  await inAll(server, browser, async (page, check, at) => {
    for (const key of ["d", "a", "s", "h", "c", "Shift+R"]) {
      if (key === "d") await page.keyboard.press("1");
      await page.keyboard.press(key);
      await page.waitForSelector("dialog .content *");
      const beside = await page.$$eval("dialog .content *", (l) =>
        l.filter((e) => e.getBoundingClientRect().right > innerWidth).map((e) => e.textContent));
      equal(beside, [], "what is beside the panel " + key + at);
      await check("panel " + key);
      await page.keyboard.press("Escape");
    }
    page.wrong = [];
    server.refuse.add("/shown");
    await page.waitForSelector("body.notlive", { timeout: PATIENCE });
    await check("not live");
    server.refuse.delete("/shown");
    await live(page);
    page.wrong = []; // the answers that were refused
  });
  equal(server.commands(), [], "what the keys change");
}

export async function theTextsOfThePassAreInItsLanguageAndLegible(server, browser) {
  server.setup.pass = true;
  server.orders = orders().map(atThePass);
  await inAll(server, browser, async (page, check) => {
    await row(page, "#6").locator(".number").click();
    await check("opened");
  });
}
