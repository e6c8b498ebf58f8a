// What a cook reads on the cards and at the edge, and how.

import {
  NO_WORKER, SCREENS, assert, chip, clipped, equal, heads, open, press, resize, texts, theEdgeIsLegible, until,
  violations,
} from "./harness.mjs";
import { cannedOrder as order } from "./canned.mjs";
import { evening } from "./evening.mjs";

export async function whatTheEdgeSaysIsLegibleAndNoNumberIsCut(server, browser) {
  const number = (i) => (i === 56 ? "#ORDER-2026-000001234" : "#40" + (900 + i));
  server.orders = evening(60).map((o, i) => ({ ...o, number: number(i), received: Date.now() - 200e3 + i }));
  Object.assign(server.orders[55], { must_ack_void: true, voids: [{ job: 9001 }] });
  Object.assign(server.orders[56], { must_ack_alarm: true });
  Object.assign(server.orders[57], { received: Date.now() - 2e6 });
  Object.assign(server.orders[58].tickets[0], { seen: 0, at: 1 });
  for (const size of ["auto", "xl"]) {
    const page = await open(browser, server, "hot-line", { settings: { size } });
    server.put(order(200, ["Soup"], { number: "#40961" }));
    for (const [width, height] of [...SCREENS, [390, 844]]) {
      await resize(page, width, height);
      for (const kind of ["new", "void", "allergy", "late", "unseen"]) await chip(page, kind).waitFor();
      const at = " at " + width + " " + size;
      const inBar = await theEdgeIsLegible(page, at);
      assert(inBar.some((t) => t.text.includes("#ORDER-2026-000001234")), "the whole number" + at);
    }
    await page.context().close();
    server.orders.pop();
  }
}

export async function eachCourseIsOnACardOnceAndSeatsAreAtTheirLines(server, browser) {
  const mains = (seat, more) => ({ name: "Steak", course: "Mains", seat, ...more });
  const medium = { name: "medium", depth: 1 };
  server.orders = [
    order(1, [
      mains("3"), { name: "Bread", seat: "5" }, mains("2"), { name: "Soup", course: "Starters" }, mains("4"), medium,
      { name: "Bread" }, mains("1", { done: true }),
    ]),
  ];
  const page = await open(browser, server, "hot-line");
  const drawn = () => texts(page, ".section.course, .column:not(.measure) .item");
  equal(
    await drawn(), ["Mains", "2×Steak S3 S2", "1Steak S4medium", "1Steak S1", "", "2×Bread S5", "Starters", "1Soup"],
    "the card",
  );
  await press(page, "#1", "button.item");
  await until("both are done", () => server.commands().length === 2);
  await until("and one line with the third", async () => (await drawn())[1] === "3×Steak S3 S2 S1");
}

export async function aLongAllDayPanelIsScrolledByKeyboard(server, browser) {
  server.orders = [order(1)];
  server.counts = Array.from({ length: 90 }, (_, i) => ({ name: "Dish " + i, quantity: "2", orders: 1 }));
  const page = await open(browser, server, "hot-line");
  await page.keyboard.press("a");
  await page.waitForSelector(".counts li");
  const content = page.locator("dialog .content");
  const top = () => content.evaluate((c) => c.scrollTop);
  const end = await content.evaluate((c) => c.scrollHeight - c.clientHeight);
  for (const [key, is] of [
    ["ArrowDown", (y) => y > 0 && y < end / 2], ["PageDown", (y) => y > end / 4], ["End", (y) => Math.abs(y - end) < 2],
    ["PageUp", (y) => y < end], ["Home", (y) => y === 0],
  ]) {
    await page.keyboard.press(key);
    await until(key + " scrolls", async () => is(await top()));
  }
  equal(await violations(page), [], "the panel");
}

export async function whatIsToBeBegunLaterIsGreyUntilThenAndNew(server, browser) {
  const fire = Date.now() + 3600e3;
  const later = { name: "Lamb", fire };
  const more = { received: Date.now() - 900e3 };
  server.orders = [
    order(1, [later, later], more), order(2, [{ name: "Duck", fire: -1 }], more), order(3, ["Soup", later], more),
    order(4, [{ name: "Pie", fire: Date.now() - 60e3 }], more),
    order(5, [{ name: "Stew", fire: Date.now() - 60e3, done: true }], more),
  ];
  server.counts = [{ name: "Soup", quantity: "1" }, { name: "Lamb", quantity: "2", later: true }];
  const page = await open(browser, server, "hot-line");
  const ages = () => texts(page, ".age");
  const clock = new Date(fire).toISOString().slice(11, 16);
  const [first, second, third, fourth, fifth] = await ages();
  equal([first, second], ["fire " + clock, "HOLD"], "the ages");
  assert(/^LATE/.test(third) && /^ ?\d\d:/.test(fourth), "what is begun: " + third + ", " + fourth);
  assert(/^ ?\d\d:/.test(fifth), "what is done before it is late: " + fifth);
  equal(await page.locator(".column:not(.measure) .card.later").count(), 2, "grey cards");
  equal(await texts(page, ".item.later"), ["2×Lamb", "1Duck", "1Lamb fire " + clock], "grey lines");
  equal(await violations(page), [], "grey can be read");
  await page.keyboard.press("a");
  await page.waitForSelector(".counts li.later");
  equal(await page.$$eval(".counts .name", (l) => l.map((n) => n.textContent)), ["Soup", "Lamblater"], "all-day");
  await page.keyboard.press("Escape");
  server.ahead = 3601e3;
  await until("it is begun, and new", async () => /^NEW \d\d:/.test((await ages())[0]));
  equal(await page.locator(".column:not(.measure) .card.later").count(), 1, "grey cards then");
}

export async function withFixedPlacesACardStaysWhereItIsUntilItIsBumped(server, browser) {
  server.setup.fixed = true;
  server.orders = evening(30).map((o) => ({ ...o, number: o.number.replace("#", "#2026-000") }));
  for (const [width, height] of SCREENS) {
    const page = await open(browser, server, "hot-line", { viewport: { width, height } });
    const places = async () =>
      new Map(await page.$$eval(".column:not(.measure) .card", (l) =>
        l.map((c) => {
          const { left, top } = c.getBoundingClientRect();
          return [c.dataset.key + c.matches(".continuation"), Math.round(left) + "/" + Math.round(top)];
        }),
      ));
    const before = await places();
    const bumped = [1, 3].map((i) => server.orders[i]);
    for (const o of bumped) {
      server.put({ ...o, state: "bumped", departure: server.seq, departed_at: Date.now() });
      await until("it is gone", async () => !(await heads(page)).includes(o.number));
    }
    for (const [key, at] of await places()) equal(at, before.get(key), key + " at " + width);
    const small = order(900 + width, ["Tea"]);
    server.put(small);
    await until("a new one is in a gap", async () => (await heads(page)).includes(small.number));
    equal(await clipped(page), [], "what is cut off");
    const after = await places();
    for (const [key, at] of before) if (after.has(key)) equal(after.get(key), at, key + " after a new one at " + width);
    const visible = await heads(page);
    const far = server.orders.filter((o) => !visible.includes(o.number)).slice(0, 4);
    server.put(...far.slice(1).map((o) => ({ ...o, received: Date.now() - 1e6 })));
    server.put({ ...far[0], tickets: [{ ...far[0].tickets[0], seen: 0, at: 1 }] });
    for (const kind of ["late", "unseen"]) await chip(page, kind).waitFor();
    for (const [key, at] of await places()) equal(at, after.get(key), key + " with notices at " + width);
    equal(new Set(after.values()).size, after.size, "places that cards share");
    await page.context().close();
    server.put(...far, ...bumped.map((o) => ({ ...o, version: 9 })));
    server.orders.splice(server.orders.findIndex((o) => o.key === small.key), 1);
  }
}

export async function aLateAnswerToUndoDoesNotTakeTheSelectionOfACookWhoWentOn(server, browser) {
  server.orders = [order(1), order(2)];
  const page = await open(browser, server, "hot-line", NO_WORKER);
  let answer;
  const mayAnswer = new Promise((done) => (answer = done));
  await page.route("**/do", async (route) => {
    const response = await route.fetch();
    if (route.request().postDataJSON().do === "undo") await mayAnswer;
    await route.fulfill({ response });
  });
  await press(page, "#1", ".act");
  await page.click("#undo:not(:disabled)");
  await until("it is back", async () => String(await heads(page)) === "#1,#2");
  await page.keyboard.press("2");
  answer();
  await until("Undo is answered", async () => /#1: undone/.test(await page.innerText("#message")));
  await page.evaluate(() => new Promise(requestAnimationFrame));
  equal(await page.locator(".card.selected .number").first().textContent(), "#2", "what is selected");
}
