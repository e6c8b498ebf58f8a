// What opens over the board: recall, all-day, courses, settings. Each is a dialog, so that the
// keyboard stays in it.

import { el, empty, kept } from "./dom.js";
import { clock, now } from "./time.js";
import { request } from "./connection.js";

export class Panels {
  constructor(app) {
    this.app = app;
    this.open = null; // {name, dialog, fill}
  }

  show(name) {
    if (this.open && this.open.name === name) return this.close();
    this.close();
    const [title, fill] = {
      recall: ["Recall", recall],
      allday: ["All day", allDay],
      course: ["Show only", courses],
      settings: ["Settings", settings],
      help: ["Keys", help],
    }[name];
    const content = el("div", { class: "content" });
    const dialog = el(
      "dialog",
      { class: "panel " + name, "aria-label": title },
      el(
        "header",
        null,
        el("h2", { text: title }),
        el("button", { type: "button", class: "close", on: { click: () => this.close() }, text: "Close" }),
      ),
      content,
    );
    // Outside of it is a way out, too.
    dialog.addEventListener("click", (e) => e.target === dialog && this.close());
    dialog.addEventListener("close", () => this.closed(dialog));
    document.body.append(dialog);
    this.open = { name, dialog, fill: () => fill(content, this.app, this) };
    this.open.fill();
    if (dialog.showModal) dialog.showModal();
    else {
      // Firefox before 98 has no dialogs: it lies over the board all the same
      dialog.setAttribute("open", "");
      dialog.classList.add("laid");
    }
    (dialog.querySelector("[autofocus]") || dialog.querySelector("button")).focus();
  }

  // close takes effect at once. The browser tells of it later, and a key that was pressed in
  // between is for the board.
  close() {
    if (!this.open) return;
    const dialog = this.open.dialog;
    if (dialog.close) dialog.close();
    this.closed(dialog);
  }

  // closed comes twice when the page closes it, once when the browser does (Escape).
  closed(dialog) {
    if (!dialog.isConnected) return;
    dialog.remove();
    if (this.open && this.open.dialog === dialog) this.open = null;
    this.app.focusSelected();
  }

  // changed draws again what shows the board.
  changed() {
    if (this.open && /^(recall|allday|course)$/.test(this.open.name)) this.open.fill();
  }

  is(name) {
    return this.open && this.open.name === name;
  }
}

function recall(content, app) {
  const list = app.store.recall(now());
  const had = document.activeElement && document.activeElement.dataset.recall;
  empty(content);
  if (!list.length) content.append(el("p", { text: "Nothing was bumped in the last hour." }));
  const ul = el("ul", { class: "rows" });
  list.forEach((e, i) => {
    const when =
      e.thing.state === "elsewhere" ? "came out elsewhere " + clock(e.thing.off_at) : "bumped " + clock(e.thing.off_at);
    const b = el(
      "button",
      { type: "button", class: "row", data: { recall: e.key }, on: { click: () => app.recall(e) } },
      el("b", { dir: "auto", text: e.head }),
      el("span", { class: "what", dir: "auto", text: [e.who, summary(e)].filter(Boolean).join(" — ") }),
      el("span", { class: "when", text: when }),
    );
    ul.append(el("li", null, b));
    if (e.key === had || (!had && i === 0)) b.setAttribute("autofocus", "");
  });
  content.append(ul);
  const again = had && ul.querySelector('[data-recall="' + CSS.escape(had) + '"]');
  if (again) again.focus();
}

function summary(e) {
  const names = [];
  for (const g of e.groups)
    for (const c of g.cards) for (const it of c.items || []) if (!it.depth) names.push(it.quantity + " " + it.name);
  return names.slice(0, 4).join(", ") + (names.length > 4 ? " …" : "");
}

async function allDay(content, app, panels) {
  const course = app.filter;
  try {
    const got = await request(
      app.live.base + "/allday" + (course ? "?course=" + encodeURIComponent(course) : ""),
      {},
      4000,
    );
    if (!got.ok) throw new Error(got.status);
    const counts = await got.json();
    if (!panels.is("allday")) return;
    empty(content);
    if (course) content.append(el("p", { class: "only" }, "Only ", el("b", { text: course })));
    if (!counts.length) content.append(el("p", { text: "Nothing to make." }));
    const ul = el("ul", { class: "counts" });
    for (const c of counts) {
      ul.append(
        el(
          "li",
          null,
          el("b", { class: "q", text: c.quantity }),
          el(
            "span",
            { class: "n", dir: "auto" },
            el("span", { text: c.name }),
            ...(c.modifiers || []).map((m) => el("small", { text: m })),
          ),
          el("span", { class: "when", text: c.cards === 1 ? "1 ticket" : c.cards + " tickets" }),
        ),
      );
    }
    content.append(ul);
  } catch (e) {
    if (panels.is("allday")) empty(content).append(el("p", { text: "No answer from ticketrail." }));
  }
}

function courses(content, app, panels) {
  empty(content);
  const ul = el("ul", { class: "rows" });
  for (const name of ["", ...app.courses()]) {
    ul.append(
      el(
        "li",
        null,
        el(
          "button",
          {
            type: "button",
            class: "row",
            "aria-pressed": String(app.filter === name),
            autofocus: app.filter === name,
            on: {
              click: () => {
                panels.close();
                app.setFilter(name);
              },
            },
          },
          el("b", { dir: "auto", text: name || "Everything" }),
        ),
      ),
    );
  }
  content.append(ul);
}

function choice(title, name, otherwise, options, then) {
  const box = el("fieldset", null, el("legend", { text: title }));
  for (const [value, text] of options) {
    const input = el("input", { type: "radio", name, value });
    input.checked = kept.get(name, otherwise) === value;
    input.addEventListener("change", () => {
      kept.set(name, value);
      then();
    });
    box.append(el("label", null, input, el("span", { text })));
  }
  return box;
}

function settings(content, app, panels) {
  empty(content);
  const volume = el("input", {
    type: "range",
    min: "10",
    max: "100",
    step: "10",
    value: kept.get("volume", "70"),
    "aria-label": "Volume",
  });
  volume.addEventListener("change", () => {
    kept.set("volume", volume.value);
    app.sound.play("new", true);
  });
  const button = (text, click) => el("button", { type: "button", on: { click }, text });
  content.append(
    choice(
      "Colours",
      "theme",
      "auto",
      [
        ["auto", "As the tablet"],
        ["dark", "Dark"],
        ["light", "Light"],
      ],
      () => app.look(),
    ),
    choice(
      "Size",
      "size",
      "m",
      [
        ["s", "Small"],
        ["m", "Medium"],
        ["l", "Large"],
      ],
      () => app.look(),
    ),
    choice(
      "Sound",
      "sound",
      "on",
      [
        ["on", "On"],
        ["off", "Off"],
      ],
      () => app.wakeButton(),
    ),
    el("fieldset", null, el("legend", { text: "Volume" }), volume),
    el(
      "fieldset",
      null,
      el("legend", { text: "Test" }),
      button("New ticket", async () => {
        await app.sound.wake();
        app.sound.play("new", true);
      }),
      button("Void", async () => {
        await app.sound.wake();
        app.sound.play("void", true);
      }),
    ),
    el(
      "fieldset",
      null,
      el("legend", { text: "This screen" }),
      button("Full screen", () =>
        document.fullscreenElement ? document.exitFullscreen() : document.documentElement.requestFullscreen(),
      ),
      button("Keys", () => panels.show("help")),
      el("p", { text: "Kept awake: " + app.awake.state }),
    ),
  );
}

const NAMES = {
  bump: "Bump the selected ticket",
  item: "Next item; Enter takes it off",
  ack_void: "I have seen the VOID",
  undo: "Undo",
  print: "Print on paper",
  recall_last: "Recall the last ticket",
  recall_list: "Recall list",
  all_day: "All-day counts",
  course: "Show one course",
  settings: "Settings",
  help: "Keys",
  close: "Close",
  left: "Left",
  right: "Right",
  up: "Up",
  down: "Down",
  page_next: "Next page",
  page_previous: "Previous page",
  first: "First ticket",
  last: "Last ticket",
};

function help(content, app) {
  empty(content);
  const dl = el("dl", { class: "keys" });
  const row = (keys, text) =>
    keys.length &&
    dl.append(el("div", null, el("dt", null, ...keys.map((k) => el("kbd", { text: k }))), el("dd", { text })));
  const map = app.setup.keys;
  row(
    [].concat(...Array.from({ length: 10 }, (_, i) => map["select_" + (i + 1)] || [])),
    "Select the 1st to 10th ticket of the page",
  );
  for (const action of Object.keys(NAMES))
    if (action !== "print" || app.setup.print) row(map[action] || [], NAMES[action]);
  content.append(dl);
}
