// Panels that open over the board: details, recall, all-day, courses, settings, keys. Each
// is a dialog, so that the keyboard stays in it.

import { byId, el, removeChildren } from "./dom.js";
import { help, settings } from "./settings.js";
import { courseName, nameOf, tableName, tableOf } from "./store.js";
import { clock, now } from "./time.js";
import { request } from "./connection.js";
import { word } from "./words.js";

export class Panels {
  constructor(app) {
    this.app = app;
    this.open = null; // {name, dialog, fill}
  }

  show(name) {
    if (this.open && this.open.name === name) return this.close();
    this.close();
    const [title, fill] = {
      details: ["order", details],
      recall: ["recall", recall],
      allday: ["all_day", allDay],
      course: ["courses", courses],
      settings: ["keys_settings", settings],
      help: ["keys_help", help],
    }[name];
    const content = el("div", { class: "content", tabindex: "0" });
    const dialog = el(
      "dialog",
      { class: "panel " + name, "aria-label": word(title), data: { notlive: word("not_live") } },
      el(
        "header",
        null,
        el("h2", { text: word(title) }),
        el("button", { type: "button", class: "close", on: { click: () => this.close() }, text: word("keys_close") }),
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
    this.app.board.focusSelected();
  }

  // changed fills the open panel again if it shows the board, and the all-day counts beside the board.
  changed() {
    if (this.open && /^(recall|allday|course)$/.test(this.open.name)) this.open.fill();
    const where = document.body.dataset.allday;
    const { store, board } = this.app;
    const state = [store.id, board.filter, board.later.size, where, innerWidth, innerHeight].join();
    if (where === "panel" || this.stripOf === state) return;
    this.stripOf = state;
    fillAllDay(byId("strip"), this.app)
      .then(fitStrip)
      .catch(() => {
        this.stripOf = ""; // again with the next change
      });
  }

  // runAction lets the arrow keys walk through a list or scroll, and the key that opened a panel close it.
  runAction(action) {
    const opens = { recall_list: "recall", all_day: "allday" }[action] || action;
    if (/^(recall|allday|details|course|settings|help)$/.test(opens)) return this.show(opens);
    const all = Array.from(this.open.dialog.querySelectorAll("button.row"));
    const to = { up: -1, down: 1, page_previous: -6, page_next: 6, first: -1e5, last: 1e5 }[action];
    if (!to) return false;
    if (!all.length) {
      const content = this.open.dialog.querySelector(".content");
      return content.scrollBy(0, (to * content.clientHeight) / 7);
    }
    all[Math.max(0, Math.min(all.length - 1, all.indexOf(document.activeElement) + to))].focus();
  }
}

const FACTS = [
  "number", "table", "type", "server", "guests", "customer", "received", "course", "destination", "venue", "also",
  "request", "job",
];

// details shows what has no place on a card, and the order's history.
function details(content, app) {
  const o = app.store.get(app.board.selected);
  removeChildren(content);
  if (!o) return;
  const table = el("dl", { class: "facts" });
  const facts = {
    ...o, table: tableName(o), received: o.clock, also: (o.also_at || []).join(", "),
    request: (o.requests || []).join(", "), job: (o.tickets || []).map((t) => t.job).join(", "),
  };
  for (const name of FACTS)
    if (facts[name])
      table.append(el("div", null, el("dt", { text: word(name) }), el("dd", { dir: "auto", text: facts[name] })));
  const list = el("ol", { class: "timeline", tabindex: "0", "aria-label": word("history") });
  content.append(table, list);
  if (app.setup.print)
    content.append(el("button", { type: "button", on: { click: () => app.print(o) }, text: word("keys_print") }));
  request(app.connection.base + "/timeline?order=" + encodeURIComponent(o.key), {}, 4000)
    .then((got) => (got.ok ? got.json() : Promise.reject(got.status)))
    .then((events) => {
      for (const { clock, what, station, item, paper } of events) {
        const text = word("did_" + what, { station, item, at: paper });
        list.append(el("li", null, el("b", { text: clock }), " ", el("span", { dir: "auto", text })));
      }
    })
    .catch(() => list.append(el("li", { text: word("no_answer") })));
}

function recall(content, app) {
  const list = app.store.recall(now());
  const had = document.activeElement && document.activeElement.dataset.recall;
  removeChildren(content);
  if (!list.length) content.append(el("p", { text: word("no_recent") }));
  const ul = el("ul", { class: "rows" });
  list.forEach((o, i) => {
    const b = el(
      "button",
      { type: "button", class: "row", data: { recall: o.key }, on: { click: () => app.send("recall", o) } },
      ...whatIs(o),
      el("span", { class: "when", text: wentWhere(o) }),
    );
    ul.append(el("li", null, b));
    if (o.key === had || (!had && i === 0)) b.setAttribute("autofocus", "");
  });
  content.append(ul);
  const again = had && ul.querySelector('[data-recall="' + CSS.escape(had) + '"]');
  if (again) again.focus();
}

// wentWhere says how an order left the board, and when: bumped, or to paper while this screen was dark.
function wentWhere(o) {
  const station = (o.tickets || []).map((t) => t.paper).find(Boolean);
  const how = o.state === "bumped" ? "bumped_at" : station ? "on_paper_at" : "on_paper";
  return word(how, { station, time: clock(o.departed_at) });
}

// whatIs is the name of an order and its first items.
function whatIs(o) {
  const names = [];
  for (const t of o.tickets || [])
    for (const it of t.items || []) if (!it.depth) names.push(it.quantity + " " + it.name);
  const what = [tableOf(o), names.slice(0, 4).join(", ") + (names.length > 4 ? " …" : "")];
  return [
    el("b", { dir: "auto", text: nameOf(o) }),
    el("span", { class: "what", dir: "auto", text: what.filter(Boolean).join(" — ") }),
  ];
}

async function allDay(content, app) {
  try {
    await fillAllDay(content, app);
  } catch (e) {
    removeChildren(content).append(el("p", { text: word("no_answer") })); // it may be closed
  }
}

// fitStrip makes the counts beside the board as large as there is room for.
function fitStrip() {
  const strip = byId("strip");
  let px = document.body.dataset.allday === "screen" ? 48 : 22;
  do strip.style.fontSize = px + "px";
  while (strip.scrollHeight > strip.clientHeight && --px >= 13);
}

// fillAllDay shows how many of each item are to be made: the total first, then of which course and with which
// modifiers.
async function fillAllDay(content, app) {
  const course = app.board.filter;
  const only = course ? "?course=" + encodeURIComponent(course) : "";
  const got = await request(app.connection.base + "/allday" + only, {}, 4000);
  if (!got.ok) throw new Error(got.status);
  const counts = await got.json();
  removeChildren(content);
  if (course) content.append(el("p", { class: "only", text: word("only", { course: courseName(course) }) }));
  if (!counts.length) content.append(el("p", { text: word("nothing_to_make") }));
  const ul = el("ul", { class: "counts" });
  for (const c of counts) {
    const courses = new Set((c.variants || []).map((v) => v.course));
    const courseOf = (v) => courses.size > 1 && courseName(v.course || "");
    const wayOf = (v) => [courseOf(v), ...(v.modifiers || [])].filter(Boolean).join(", ");
    const variants = (c.variants || []).filter(wayOf);
    ul.append(
      el(
        "li",
        { class: c.later ? "later" : "" },
        el("b", { class: "quantity", text: c.quantity }),
        el(
          "span",
          { class: "name", dir: "auto" },
          el("span", { text: c.name }),
          c.later && el("small", { text: word("later") }),
          ...variants.map((v) =>
            el("small", null, el("b", { text: v.quantity }), " " + wayOf(v)),
          ),
        ),
        el("span", { class: "when", text: word("in_orders", { n: c.orders }) }),
      ),
    );
  }
  content.append(ul);
}

function courses(content, app, panels) {
  removeChildren(content);
  const ul = el("ul", { class: "rows" });
  for (const name of ["", ...app.board.courses()]) {
    const is = app.board.filter === name;
    const click = () => {
      panels.close();
      app.board.setFilter(name);
    };
    const props = { type: "button", class: "row", "aria-pressed": String(is), autofocus: is, on: { click } };
    const text = courseName(name) || word("all_courses");
    ul.append(el("li", null, el("button", props, el("b", { dir: "auto", text }))));
  }
  content.append(ul);
}
