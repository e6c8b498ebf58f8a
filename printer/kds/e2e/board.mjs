// The board: what a cook sees and does.

import { AxeBuilder, assert, equal, heads, item, open, order, until } from "./harness.mjs";

const click = (page, head, what) =>
  page
    .locator("article.card", { has: page.locator("h2", { hasText: new RegExp("^" + head + "$") }) })
    .locator(what)
    .click();

export async function aTicketAppearsAndIsConfirmed(server, browser) {
  const page = await open(browser, server, "hot-line");
  equal(await heads(page), [], "an empty board");
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
  await page.waitForTimeout(500); // a press on a card that has just moved is ignored
  await click(page, "#2", ".act");
  await until(
    "both are without #2",
    async () =>
      [page, other].every(async (p) => String(await heads(p)) === "#1,#3") && String(await heads(other)) === "#1,#3",
    1000,
  );
  await page.locator(".undo").click();
  await until("#2 is back in its place", async () => String(await heads(other)) === "#1,#2,#3", 1000);
  await page.waitForTimeout(500);
  await click(page, "#1", ".act");
  await until("#1 is gone", async () => String(await heads(page)) === "#2,#3");
  await page.locator("#recall").click();
  await page.locator(".rows .row").first().click();
  await until("#1 is the first again", async () => String(await heads(other)) === "#1,#2,#3");
  await page.waitForTimeout(500);
  await click(page, "#3", "button.item");
  await until(
    "the item is done on both",
    async () => (await other.locator(".item.done").count()) === 1 && (await page.locator(".item.done").count()) === 1,
  );
  await click(page, "#3", "button.item");
  await until("and not done again", async () => (await other.locator(".item.done").count()) === 0);
}

export async function twoCooksWhoBumpTheSameTicketBumpItOnce(server, browser) {
  await server.put("hot-line", order(1), order(2));
  const [a, b] = [await open(browser, server, "hot-line"), await open(browser, server, "hot-line")];
  await a.waitForTimeout(500);
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
  const selected = () => page.$eval(".card.selected h2", (h) => h.textContent).catch(() => "");
  const press = (k) => page.keyboard.press(k);
  await press("Enter");
  equal(await selected(), "#1", "the first press chooses the oldest");
  equal((await heads(page)).length, 4, "and bumps nothing");
  await press("3");
  equal(await selected(), "#3", "a digit selects");
  assert(await page.$eval(".card.selected", (c) => c === document.activeElement), "the selected card has the focus");
  await press("ArrowUp");
  equal(await selected(), "#2", "arrow up");
  await press("i");
  await press("Enter");
  await until("Enter takes the item off", async () => (await page.locator(".item.done").count()) === 1);
  await press("u");
  await until("u puts it back", async () => (await page.locator(".item.done").count()) === 0);
  await press("4");
  await press("Space");
  await until("Space bumps", async () => !(await heads(page)).includes("#4"));
  equal(await selected(), "", "nothing is selected after a bump");
  await press("u");
  await until("u takes it back", async () => (await heads(page)).includes("#4"));
  await press("4");
  await press("Enter");
  await until("Enter bumps", async () => !(await heads(page)).includes("#4"));
  await press("r");
  await until("r recalls the last", async () => (await heads(page)).includes("#4"));
  await press("Shift+R");
  assert(await page.isVisible("dialog.recall"), "Shift+R lists");
  await press("Escape");
  await press("F8");
  await page.waitForSelector("dialog.allday .counts li");
  assert(/3.*Burger/s.test(await page.textContent(".counts li:first-child")), "all-day counts");
  await press("a");
  assert(!(await page.isVisible("dialog")), "the same key closes it");
  await press("c");
  await press("ArrowDown");
  await press("ArrowDown");
  await press("Enter");
  await until("only Mains", async () => String(await heads(page)) === "#2");
  equal(await page.textContent(".act"), "Done: Mains", "what is hidden cannot be bumped");
  assert(!(await page.textContent("#board")).includes("Soup"), "the soup is hidden");
  await press("1");
  await press("Enter");
  await until("the main is done", async () => (await page.locator(".item.done").count()) === 1);
  await press("c");
  await press("Home");
  await press("Enter");
  await until("everything again", async () => (await heads(page)).length === 4);
  await press("1");
  await press("p");
  await until("p prints", async () => (await server.status("hot-line")).printed);
  await press("s");
  assert(await page.isVisible("dialog.settings"), "s is settings");
  await page.getByRole("button", { name: "Void" }).click();
  equal(await page.getAttribute("html", "data-played"), "void", "the test of the void sound");
}

export async function aVoidMustBeAcknowledgedBeforeItIsBumped(server, browser) {
  const page = await open(browser, server, "hot-line");
  await server.put("hot-line", order(1, item("Steak", 1, { void: true }), item("Chips")));
  await until("it is there", async () => (await heads(page)).length === 1);
  await until("the sound of a void", async () => (await page.getAttribute("html", "data-played")) === "void");
  equal(await page.textContent(".act"), "Acknowledge VOID", "the button");
  assert(
    await page.$eval(".line.void s", (s) => getComputedStyle(s).textDecorationLine === "line-through"),
    "it is struck",
  );
  await page.waitForTimeout(500);
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
  await page.click(".act");
  await until("it can be bumped", async () => (await page.textContent(".act")) === "Bump");
  assert((await page.locator(".line.void s").count()) === 1, "it stays struck");
  await page.waitForSelector("body[data-tapped]");
  await page.waitForTimeout(600);
  equal((await heads(page)).length, 1, "the second half of a double tap bumps nothing");
  await page.click(".act");
  await until("it is gone", async () => (await heads(page)).length === 0);
}

export async function everythingUnusualHasABannerInWords(server, browser) {
  await server.ask("/put", {
    Station: "hot-line",
    Doubt: true,
    For: "grill",
    Tickets: [{ ...order(5), notes: ["SESAME allergy", "no rush"], refire: true, guests: "4" }],
  });
  await server.put("hot-line", { ...order(5, item("Dessert")), request: "another-request" });
  await server.put("hot-line", { ...order(6), age: 400 }, { ...order(7), age: 700 });
  const page = await open(browser, server, "hot-line");
  const text = await page.innerText("#board");
  for (const word of [
    "POSSIBLE DUPLICATE",
    "FOR grill (screen down)",
    "REFIRE",
    "ADD-ON",
    "⚠ SESAME allergy",
    "no rush",
    "4 guests",
    "DUE 06:",
    "LATE 11:",
  ]) {
    assert(text.includes(word), word + " is missing in " + text);
  }
  // Before any script has run, the server has rendered the same.
  const plain = await browser.newContext({ javaScriptEnabled: false });
  const first = await plain.newPage();
  await first.goto(server.url + "/screen/hot-line");
  const words = (s) =>
    s
      .replace(/\s+/g, " ")
      .replace(/\d\d:\d\d/g, "")
      .trim();
  const drawn = await page.$$eval("article.card", (l) =>
    l.map((c) =>
      Array.from(c.querySelectorAll("h2, .who, .banner, .note, .line"))
        .map((e) => e.textContent)
        .join("|"),
    ),
  );
  const served = await first.$$eval("article.card", (l) =>
    l.map((c) =>
      Array.from(c.querySelectorAll("h2, .who, .banner, .note, .line"))
        .map((e) => e.textContent)
        .join("|"),
    ),
  );
  equal(served.map(words), drawn.map(words), "what the server rendered");
}

export async function twoHundredTicketsAreOnPagesWithoutScrolling(server, browser) {
  const page = await open(browser, server, "hot-line");
  await server.put(
    "hot-line",
    ...Array.from({ length: 200 }, (_, i) => order(i + 1, item("Burger"), item("Chips", (i % 4) + 1))),
  );
  await until("200 open", async () => (await page.textContent("#count")) === "200 open");
  const seen = [];
  for (;;) {
    assert(
      await page.evaluate(
        () =>
          document.documentElement.scrollHeight <= innerHeight &&
          document.getElementById("board").scrollHeight <= document.getElementById("board").clientHeight + 1,
      ),
      "nothing scrolls",
    );
    for (const c of await page.$$(".column:not(.measure) article.card")) {
      const box = await c.boundingBox(),
        bar = await page.locator("#bar").boundingBox();
      assert(
        box.x >= 0 && box.x + box.width <= 1280 && box.y >= 0 && box.y + box.height <= bar.y + 1,
        "a card is cut off",
      );
    }
    seen.push(...(await heads(page)));
    if (await page.isDisabled("#next")) break;
    await page.keyboard.press("PageDown");
  }
  equal(
    seen,
    Array.from({ length: 200 }, (_, i) => "#" + (i + 1)),
    "the pages",
  );
}

export async function aBoardWithManyTicketsIsRenderedPageByPage(server, browser) {
  await server.put("hot-line", ...Array.from({ length: 700 }, (_, i) => order(i + 1)));
  const page = await open(browser, server, "hot-line");
  equal(await page.textContent("#count"), "700 open", "the count");
  const pages = async () => Number((await page.textContent("#pagenumber")).match(/ (\d+)\+?$/)[1]);
  const first = await pages();
  assert((await page.textContent("#pagenumber")).endsWith("+"), "it says that there are more");
  await until("the server knows of all", async () => (await server.status("hot-line")).status.live === 1);
  equal(
    (await server.ask("/put", { Station: "hot-line", Print: true, Tickets: [order(701)] })).proof,
    "shown",
    "a new one is",
  );
  await page.waitForSelector("#alerts .new");
  assert(/1 new on page \d+/.test(await page.textContent("#alerts .new")), "it says where it is");
  await page.keyboard.press("End");
  equal(await page.isDisabled("#next"), false, "the next button is dead");
  await page.keyboard.press("PageDown");
  assert((await pages()) > first, "there are not more pages");
  await page.keyboard.press("End");
  await page.keyboard.press("PageDown");
  await page.keyboard.press("End");
  await until("the last is there", async () => (await heads(page)).pop() === "#701");
  equal(await page.isDisabled("#next"), true, "there is more");
  await page.keyboard.press("Home");
  await page.keyboard.press("1");
  await page.keyboard.press("Enter");
  await until("the oldest is bumped", async () => (await heads(page))[0] === "#2");
  equal(await pages(), first, "pages that are drawn again");
}

export async function aLongTicketContinuesInTheNextColumn(server, browser) {
  await server.put("hot-line", order(1, ...Array.from({ length: 60 }, (_, i) => item("Dish " + (i + 1)))), order(2), {
    ...order(3, item("x")),
    lines: null,
    raw: "{" + '"a":1,'.repeat(2000) + "}",
  });
  const page = await open(browser, server, "hot-line");
  const names = [];
  for (let n = 0; n < 20; n++) {
    names.push(...(await page.$$eval(".column:not(.measure) .card .name", (l) => l.map((e) => e.textContent))));
    if (await page.isDisabled("#next")) break;
    await page.keyboard.press("PageDown");
  }
  equal(
    names.filter((n) => /^Dish/.test(n)),
    Array.from({ length: 60 }, (_, i) => "Dish " + (i + 1)),
    "every dish, once",
  );
}

export async function textOfOrdersIsNeverMarkup(server, browser) {
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

export async function theExpoShowsWhichStationsAreDone(server, browser) {
  await server.put("hot-line", order(1), order(2));
  await server.put("cold", order(1, item("Salad")));
  const [pass, hot, cold] = [
    await open(browser, server, "pass"),
    await open(browser, server, "hot-line"),
    await open(browser, server, "cold"),
  ];
  await pass.waitForTimeout(500);
  equal(await heads(pass), ["#1", "#2"], "orders at the pass");
  await click(hot, "#1", ".act");
  await until("hot line is done", async () => /hot-line\s+✓ done/i.test(await pass.innerText("article.card >> nth=0")));
  equal(await pass.textContent("article.card .act"), "Not ready", "cold is not");
  await click(cold, "#1", ".act");
  await until("it is ready", async () => (await pass.textContent("article.card .act")) === "Bump order");
  await pass.waitForTimeout(500);
  await click(pass, "#1", ".act");
  await until("it is out", async () => String(await heads(pass)) === "#2");
  await pass.locator(".undo").click();
  await until("and back", async () => String(await heads(pass)) === "#1,#2");
  await pass.keyboard.press("2");
  await pass.keyboard.press("Enter");
  equal((await heads(pass)).length, 2, "an order that is not ready needs a second press");
  await pass.keyboard.press("Enter");
  await until("then it goes", async () => String(await heads(pass)) === "#1");
}

export async function allPagesAreAccessible(server, browser) {
  await server.ask("/put", {
    Station: "hot-line",
    Doubt: true,
    For: "grill",
    Tickets: [{ ...order(5), notes: ["SESAME allergy", "no rush"], refire: true }],
  });
  await server.put(
    "hot-line",
    {
      ...order(
        6,
        item("Steak", 1, { void: true }),
        { ...item("Egg allergy"), d: 1 },
        item("Pie", 1, { course: "Mains", seat: "2" }),
      ),
      age: 400,
    },
    { ...order(7), age: 700 },
    order(8),
  );
  await server.put("cold", order(5));
  for (const colorScheme of ["dark", "light"]) {
    const page = await open(browser, server, "hot-line", { colorScheme });
    const check = async (what) => {
      const found = (await new AxeBuilder({ page }).analyze()).violations;
      assert(
        found.length === 0,
        colorScheme +
          ", " +
          what +
          ": " +
          JSON.stringify(
            found.map((v) => [v.id, v.nodes.map((n) => n.html.slice(0, 140) + " " + n.failureSummary)]),
            null,
            1,
          ),
      );
    };
    await check("the board");
    await page.keyboard.press("3");
    await page.keyboard.press("Enter");
    await page.waitForSelector(".undo");
    await check("the toast");
    for (const key of ["a", "Shift+R", "s", "h", "c"]) {
      await page.keyboard.press(key);
      await page.waitForTimeout(200);
      await check("panel " + key);
      await page.keyboard.press("Escape");
    }
    await page.keyboard.press("u");
    const small = await page.$$eval("button", (l) =>
      l
        .filter((b) => b.offsetParent)
        .map((b) => [b.textContent, b.offsetWidth, b.offsetHeight])
        .filter(([, w, h]) => w < 48 || h < 48),
    );
    equal(small, [], "buttons smaller than 48 px");
    const bumps = await page.$$eval(".act", (l) => l.map((b) => b.offsetHeight).filter((h) => h < 64));
    equal(bumps, [], "bump buttons lower than 64 px");
    await page.goto(server.url + "/");
    await check("the start page");
    const pass = await open(browser, server, "pass", { colorScheme });
    const found = (await new AxeBuilder({ page: pass }).analyze()).violations;
    equal(
      found.map((v) => [v.id, v.nodes.map((n) => n.html)]),
      [],
      "the pass",
    );
  }
  const calm = await open(browser, server, "hot-line", { reducedMotion: "reduce" });
  await server.put("hot-line", order(9));
  await calm.waitForSelector(".card.new");
  equal(await calm.$eval(".card.new header", (h) => getComputedStyle(h).animationName), "none", "no flashing");
}
