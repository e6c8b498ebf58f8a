// The board: what a cook sees and does.

import { assert, card, equal, heads, item, open, order, press, row, rows, until } from "./harness.mjs";

export async function aTicketAppearsAndIsConfirmed(server, browser) {
  const page = await open(browser, server, "hot-line");
  equal(await heads(page), [], "an empty board");
  await until("the server knows", async () => (await server.status("hot-line")).status.live === 1);
  const got = await server.ask("/put", { Station: "hot-line", Print: true, Tickets: [order(7)] });
  equal(got.proof, "shown", "the proof");
  equal(await heads(page), ["#7"], "the board");
  await until("it is announced", async () => /#7/.test(await page.textContent("#announce")));
  equal(await page.getAttribute("html", "data-played"), "new", "the sound");
  // A card on a later page of the board is confirmed too.
  for (let n = 8; n < 40; n++) await server.put("hot-line", order(n));
  const late = await server.ask("/put", { Station: "hot-line", Print: true, Tickets: [order(99)] });
  equal(late.proof, "shown", "the proof of a ticket on a later page");
  assert(!(await heads(page)).includes("#99"), "#99 is on a later page");
}

export async function bumpUndoRecallAndItems(server, browser) {
  await server.put("hot-line", order(1), order(2), order(3));
  const page = await open(browser, server, "hot-line");
  const other = await open(browser, server, "hot-line");
  await press(page, "#2", ".act");
  await until(
    "both are without #2",
    async () =>
      [page, other].every(async (p) => String(await heads(p)) === "#1,#3") && String(await heads(other)) === "#1,#3",
  );
  await page.locator("#undo").click();
  await until("#2 is back in its place", async () => String(await heads(other)) === "#1,#2,#3");
  await press(page, "#1", ".act");
  await until("#1 is gone", async () => String(await heads(page)) === "#2,#3");
  await page.locator("#recall").click();
  await page.locator(".recall .row").first().click();
  await until("#1 is the first again", async () => String(await heads(other)) === "#1,#2,#3");
  await press(page, "#3", "button.item");
  await until(
    "the item is done on both",
    async () => (await other.locator(".item.done").count()) === 1 && (await page.locator(".item.done").count()) === 1,
  );
  await press(page, "#3", "button.item");
  await until("and not done again", async () => (await other.locator(".item.done").count()) === 0);
}

export async function twoCooksWhoBumpTheSameTicketBumpItOnce(server, browser) {
  await server.put("hot-line", order(1), order(2));
  const [a, b] = [await open(browser, server, "hot-line"), await open(browser, server, "hot-line")];
  await Promise.all([a, b].map((p) => p.$eval(".column:not(.measure) .act", (button) => button.click())));
  await until("only #2 is left", async () => String(await heads(a)) === "#2" && String(await heads(b)) === "#2");
  equal((await server.status("hot-line")).board.recall.length, 1, "bumped tickets");
}

export async function everythingCanBeDoneByKeyboard(server, browser) {
  await server.put(
    "hot-line",
    order(1),
    order(2, item("Soup", 1, { course: "Starters" }), item("Steak", 1, { course: "Mains" })),
    order(3),
    order(4),
  );
  const page = await open(browser, server, "hot-line");
  const selected = () => page.$eval(".card.selected .number", (e) => e.textContent).catch(() => "");
  const type = (k) => page.keyboard.press(k);
  await type("Enter");
  equal(await selected(), "#1", "the first press chooses the oldest");
  equal((await heads(page)).length, 4, "and bumps nothing");
  await type("3");
  equal(await selected(), "#3", "a digit selects");
  assert(await page.$eval(".card.selected", (c) => c === document.activeElement), "the selected card has the focus");
  await type("ArrowUp");
  equal(await selected(), "#2", "arrow up");
  await type("i");
  await type("Enter");
  await until("Enter takes the item off", async () => (await page.locator(".item.done").count()) === 1);
  await type("u");
  await until("u puts it back", async () => (await page.locator(".item.done").count()) === 0);
  await type("4");
  await type("Space");
  await until("Space bumps", async () => !(await heads(page)).includes("#4"));
  equal(await selected(), "", "nothing is selected after a bump");
  await type("u");
  await until("u takes it back", async () => (await heads(page)).includes("#4"));
  await type("4");
  await type("Enter");
  await until("Enter bumps", async () => !(await heads(page)).includes("#4"));
  await type("r");
  await until("r recalls the last", async () => (await heads(page)).includes("#4"));
  await type("Shift+R");
  assert(await page.isVisible("dialog.recall"), "Shift+R lists");
  await type("Escape");
  await type("F8");
  await page.waitForSelector("dialog.allday .counts li");
  assert(/3.*Burger/s.test(await page.textContent(".counts li:first-child")), "all-day counts");
  await type("a");
  assert(!(await page.isVisible("dialog")), "the same key closes it");
  await type("c");
  await type("ArrowDown");
  await type("ArrowDown");
  await type("Enter");
  await until("only Mains", async () => String(await heads(page)) === "#2");
  equal(await page.textContent(".act"), "Done: Mains", "what is hidden cannot be bumped");
  assert(!(await page.textContent("#board")).includes("Soup"), "the soup is hidden");
  await type("1");
  await type("Enter");
  await until("the main is done", async () => (await page.locator(".item.done").count()) === 1);
  await type("c");
  await type("Home");
  await type("Enter");
  await until("everything again", async () => (await heads(page)).length === 4);
  await type("1");
  await type("p");
  await until("p prints", async () => (await server.status("hot-line")).printed);
  await type("s");
  assert(await page.isVisible("dialog.settings"), "s is settings");
  await page.getByRole("button", { name: "Void" }).click();
  equal(await page.getAttribute("html", "data-played"), "void", "the test of the void sound");
}

const act = (page, name) => card(page, name).locator(".act").textContent();

export async function aVoidJoinsItsOrderAndIsReadBeforeItIsBumped(server, browser) {
  const page = await open(browser, server, "hot-line");
  await server.put("hot-line", { ...order(1, item("Fish"), item("Chips")), request: "first" });
  await until("it is there", async () => (await heads(page)).length === 1);
  await server.put("hot-line", { ...order(1, item("Fish", 1, { void: true })), request: "second" });
  await until("it is there", async () => /VOID.*Fish/.test(await page.textContent(".column .line.void")));
  equal(await heads(page), ["#1"], "cards");
  await until("the sound of a void", async () => (await page.getAttribute("html", "data-played")) === "void");
  assert(/VOID .*1 Fish/.test(await card(page, "#1").locator(".voided").first().textContent()), "the band");
  equal(await act(page, "#1"), "Acknowledge VOID", "the button");
  await page.evaluate(() => {
    // the second half of a double tap, as soon as the button has another meaning
    new MutationObserver((_, o) => {
      const b = document.querySelector(".column:not(.measure) .act.bump");
      if (!b) return;
      o.disconnect();
      b.dispatchEvent(new MouseEvent("click", { bubbles: true, detail: 2 }));
      document.body.dataset.tapped = "twice";
    }).observe(document.getElementById("board"), { childList: true, subtree: true });
  });
  await press(page, "#1", ".act");
  await page.waitForSelector("body[data-tapped]");
  await until("it can be bumped", async () => (await act(page, "#1")) === "Bump");
  equal(await card(page, "#1").locator(".line.void s").allTextContents(), ["Fish"], "struck lines");
  const state = async () => (await server.status("hot-line")).board;
  equal([(await state()).orders.length, (await state()).recall.length], [1, 0], "after a double tap");
  await press(page, "#1", ".act");
  await until("it is gone", async () => (await heads(page)).length === 0);
}

export async function anOrderIsItsCheckWhateverItsTableAndItsNumber(server, browser) {
  const page = await open(browser, server, "hot-line");
  const of = (number, check, table, ...lines) => ({
    ...order(number, ...lines), check, table, request: check + table + lines[0].n, type: table ? "Dine In" : "Takeaway",
  });
  await server.put("hot-line", of(7, "one", "T4", item("Rib eye"), item("Chips")), of(55, "two", "", item("Pho")),
    of(55, "three", "", item("Satay", 1, { notes: ["PEANUT ALLERGY"] })));
  await until("all are there", async () => String(await heads(page)) === "#7,#55,#55");
  const guests = card(page, "#55");
  equal(await guests.locator(".alarm.top").count(), 1, "cards with the allergy at their top");

  await server.put("hot-line", of(7, "one", "T7", item("Rib eye", 1, { void: true })),
    of(55, "three", "", item("Pho", 1, { void: true })));
  await until("the void is on the card", async () => (await act(page, "#7")) === "Acknowledge VOID");
  equal(await card(page, "#7").locator(".line.void s").allTextContents(), ["Rib eye"], "struck lines");
  assert((await card(page, "#7").innerText()).includes("T4 → T7"), "it does not say that the table moved");
  equal(await heads(page), ["#7", "#55", "#55"], "cards");
  equal(await guests.first().locator(".line.void").count(), 0, "lines that a void of another check strikes");
}

export async function aVoidOfABumpedOrderSaysWhenItWasBumped(server, browser) {
  const page = await open(browser, server, "hot-line");
  await server.put("hot-line", { ...order(1, item("Fish"), item("Chips")), request: "first" });
  await until("it is there", async () => (await heads(page)).length === 1);
  await press(page, "#1", ".act");
  await until("it is bumped", async () => (await heads(page)).length === 0);
  await server.put("hot-line", { ...order(1, item("Fish", 1, { void: true })), request: "second" });
  await until("it is back", async () => (await heads(page)).length === 1);
  const text = await card(page, "#1").innerText();
  assert(/you bumped this at \d\d:\d\d/.test(text), "it does not say when: " + text);
  assert(/VOID of #1, bumped \d\d:\d\d/.test(text) && !/add-on|ADDED/.test(text), "its head: " + text);
}

export async function anAddOnJoinsItsOrder(server, browser) {
  const page = await open(browser, server, "hot-line");
  await server.put("hot-line", { ...order(1, item("Fish")), request: "first" });
  await server.put("hot-line", { ...order(1, item("Bread", 2)), request: "second" });
  await until("under a heading", async () => /ADDED \d\d:\d\d\s+2×\s*Bread/.test(await page.innerText("#board")));
  equal(await heads(page), ["#1"], "cards");
  await press(page, "#1", ".act");
  await until("both are bumped", async () => (await heads(page)).length === 0);
  await server.put("hot-line", { ...order(1, item("Cake")), request: "third" });
  await until("what comes later says of what it is", async () =>
    /add-on to #1, bumped \d\d:\d\d/.test(await page.innerText("#board")),
  );
  await page.click("#recall");
  await page.locator(".recall .row").first().click();
  await until("recall brings it back", async () => /Fish/.test(await page.innerText("#board")));
}

export async function aBoardWithManyTicketsIsRenderedPageByPage(server, browser) {
  await server.put("hot-line", ...Array.from({ length: 350 }, (_, i) => order(i + 1)));
  const page = await open(browser, server, "hot-line");
  equal(await page.textContent("#count"), "350 open", "the count");
  const pages = async () => Number((await page.textContent("#pagenumber")).match(/ (\d+)\+?$/)[1]);
  const first = await pages();
  assert((await page.textContent("#pagenumber")).endsWith("+"), "it says that there are more");
  await until("the server knows of all", async () => (await server.status("hot-line")).status.live === 1);
  equal(
    (await server.ask("/put", { Station: "hot-line", Print: true, Tickets: [order(351)] })).proof,
    "shown",
    "a new one is",
  );
  await page.waitForSelector("#alerts .new");
  equal(await page.textContent("#alerts .new"), "NEW #351", "the bar");
  await page.keyboard.press("End");
  equal(await page.isDisabled("#next"), false, "the next button is dead");
  await page.keyboard.press("PageDown");
  assert((await pages()) > first, "there are not more pages");
  await page.keyboard.press("End");
  await page.keyboard.press("PageDown");
  await page.keyboard.press("End");
  await until("the last is there", async () => (await heads(page)).pop() === "#351");
  equal(await page.isDisabled("#next"), true, "there is more");
  await page.keyboard.press("Home");
  await page.keyboard.press("1");
  await page.keyboard.press("Enter");
  await until("the oldest is bumped", async () => (await heads(page))[0] === "#2");
  equal(await pages(), first, "pages that are drawn again");
}

export async function textOfARequestIsNeverMarkup(server, browser) {
  const evil = [
    "<img src=x onerror=\"document.title='owned'\">",
    "</script><script>document.title='owned'</script>",
    "{{.}} ${1} javascript:alert(1)",
    "\u202Egnitrats\u001b[31m",
    "a".repeat(400),
    "&lt;b&gt;",
    "-->",
    "מלפפון عصير",
  ];
  await server.put("hot-line", {
    number: evil[0],
    table: evil[1],
    server: evil[2],
    type: evil[3],
    notes: evil,
    lines: evil.map((n) => item(n, "1", { notes: [n], seat: n, course: n })),
  });
  const page = await open(browser, server, "hot-line");
  assert((await page.innerText("#board")).includes(evil[0]), "it is shown as it is written");
  await page.keyboard.press("c");
  await page.keyboard.press("Escape");
  await page.keyboard.press("a");
  await page.waitForSelector(".counts li");
  await page.keyboard.press("Escape");
  await page.keyboard.press("1");
  await page.keyboard.press("Enter");
  await until("bumped", async () => (await heads(page)).length === 0);
  await page.keyboard.press("Shift+R");
  equal(
    await page.evaluate(() => document.images.length + document.querySelectorAll("script").length),
    2,
    "elements that are not ours",
  );
  assert(!/owned/.test(await page.title().then((t) => t.replace(evil[0], ""))), "nothing ran");
}

export async function thePassShowsWhichStationsAreDone(server, browser) {
  await server.put("hot-line", { ...order(1), age: 60 }, { ...order(2), age: 50 });
  await server.put("cold", { ...order(1, item("Salad")), age: 60 });
  const [pass, hot, cold] = [
    await open(browser, server, "pass"),
    await open(browser, server, "hot-line"),
    await open(browser, server, "cold"),
  ];
  equal(await rows(pass), ["#1", "#2"], "orders at the pass");
  await press(hot, "#2", ".act");
  await press(hot, "#1", ".act");
  const told = () => row(pass, "#1").locator(".told").allTextContents();
  await until("hot line is done, and cold is not", async () => String(await told()) === "HOT LINE ✓,COLD 1");
  await until("it is after what is ready", async () => String(await rows(pass)) === "#2,#1");
  await press(cold, "#1", ".act");
  await until("it is ready", async () => String(await rows(pass)) === "#1,#2");
  await until("and heard", async () => (await pass.getAttribute("html", "data-played")) === "ready");
  await row(pass, "#1").locator(".act").evaluate((b) => b.click());
  await until("it is out", async () => String(await rows(pass)) === "#2");
  await pass.locator("#undo").click();
  await until("and back", async () => String(await rows(pass)) === "#1,#2");
  await server.put("hot-line", { ...order(3), age: 10 });
  await until("one more", async () => (await rows(pass)).length === 3);
  await pass.keyboard.press("3");
  await pass.keyboard.press("Enter");
  await pass.keyboard.press("Enter");
  await until("asked", async () => /again/.test(await act(pass, "#3")));
  // The first press is forgotten after 4 s. Two at once are a second press also on a slow machine.
  await pass.evaluate(() => {
    const enter = () => document.body.dispatchEvent(new KeyboardEvent("keydown", { key: "Enter", bubbles: true }));
    enter();
    enter();
  });
  await until("then it goes", async () => String(await rows(pass)) === "#1,#2");
}
