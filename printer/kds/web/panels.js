// Panels that open over the board: recall, all-day, courses, settings, keys. Each is a dialog, so
// that the keyboard stays in it.

import { el, removeChildren, setting } from "./dom.js";
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
      allday: ["All-day", allDay],
      course: ["Courses", courses],
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
    // A press outside of it closes it too.
    dialog.addEventListener("click", (e) => e.target === dialog && this.close());
    dialog.addEventListener("close", () => this.closed(dialog));
    document.body.append(dialog);
    this.open = { name, dialog, fill: () => fill(content, this.app, this) };
    this.open.fill();
    if (dialog.showModal) dialog.showModal();
    else {
      // Firefox before 98 has no dialogs; a class places it over the board
      dialog.setAttribute("open", "");
      dialog.classList.add("nodialog");
    }
    (dialog.querySelector("[autofocus]") || dialog.querySelector("button")).focus();
  }

  // close takes effect at once. The browser reports it later, and a key that is pressed in between
  // is meant for the board.
  close() {
    if (!this.open) return;
    const dialog = this.open.dialog;
    if (dialog.close) dialog.close();
    this.closed(dialog);
  }

  // closed is called twice when the page closes a panel, once when the browser does (Escape).
  closed(dialog) {
    if (!dialog.isConnected) return;
    dialog.remove();
    if (this.open && this.open.dialog === dialog) this.open = null;
    this.app.focusSelected();
  }

  // changed fills the open panel again if it shows the board.
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
  removeChildren(content);
  if (!list.length) content.append(el("p", { text: "Nothing was bumped in the last hour." }));
  const ul = el("ul", { class: "rows" });
  list.forEach((e, i) => {
    const when =
      e.source.state === "elsewhere"
        ? "came out at the backup " + clock(e.source.off_at)
        : "bumped " + clock(e.source.off_at);
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
      app.connection.base + "/allday" + (course ? "?course=" + encodeURIComponent(course) : ""),
      {},
      4000,
    );
    if (!got.ok) throw new Error(got.status);
    const counts = await got.json();
    if (!panels.is("allday")) return;
    removeChildren(content);
    if (course) content.append(el("p", { class: "only" }, "Only ", el("b", { text: course })));
    if (!counts.length) content.append(el("p", { text: "Nothing to make." }));
    const ul = el("ul", { class: "counts" });
    for (const c of counts) {
      ul.append(
        el(
          "li",
          null,
          el("b", { class: "quantity", text: c.quantity }),
          el(
            "span",
            { class: "name", dir: "auto" },
            el("span", { text: c.name }),
            ...(c.modifiers || []).map((m) => el("small", { text: m })),
          ),
          el("span", { class: "when", text: c.cards === 1 ? "1 ticket" : c.cards + " tickets" }),
        ),
      );
    }
    content.append(ul);
  } catch (e) {
    if (panels.is("allday")) removeChildren(content).append(el("p", { text: "No answer from ticketrail." }));
  }
}

function courses(content, app, panels) {
  removeChildren(content);
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
          el("b", { dir: "auto", text: name || "All courses" }),
        ),
      ),
    );
  }
  content.append(ul);
}

function choice(title, name, fallback, options, then) {
  const box = el("fieldset", null, el("legend", { text: title }));
  for (const [value, text] of options) {
    const input = el("input", { type: "radio", name, value });
    input.checked = setting.get(name, fallback) === value;
    input.addEventListener("change", () => {
      setting.set(name, value);
      then();
    });
    box.append(el("label", null, input, el("span", { text })));
  }
  return box;
}

function settings(content, app, panels) {
  removeChildren(content);
  const volume = el("input", {
    type: "range",
    min: "10",
    max: "100",
    step: "10",
    value: setting.get("volume", "70"),
    "aria-label": "Volume",
  });
  volume.addEventListener("change", () => {
    setting.set("volume", volume.value);
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
      () => app.applySettings(),
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
      () => app.applySettings(),
    ),
    choice(
      "Sound",
      "sound",
      "on",
      [
        ["on", "On"],
        ["off", "Off"],
      ],
      () => app.updateSoundButton(),
    ),
    el("fieldset", null, el("legend", { text: "Volume" }), volume),
    el(
      "fieldset",
      null,
      el("legend", { text: "Test" }),
      button("New ticket", async () => {
        await app.sound.unlock();
        app.sound.play("new", true);
      }),
      button("Void", async () => {
        await app.sound.unlock();
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
      el("p", { text: "Display kept on: " + app.wakeLock.state }),
    ),
  );
}

const NAMES = {
  bump: "Bump the selected ticket",
  item: "Next item; Enter marks it done",
  ack_void: "Acknowledge the VOID",
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
  removeChildren(content);
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
