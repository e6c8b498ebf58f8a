// Renders a card. page.go renders the same elements before this script runs; a browser test compares
// the two, texts of banners included.

import { el } from "./dom.js";

// renderCard makes the elements of a card: its head, the blocks of its body, none of which is ever
// split, and its foot. options: {setup, filter}
export function renderCard(entry, options) {
  const shown = visible(entry, options.filter);
  const card = {
    entry,
    blocks: [],
    hidden: shown.hidden,
    hiddenUndone: shown.hiddenUndone,
    items: shown.items,
    head: header(entry),
    foot: foot(entry, options, shown),
    word: null,
    time: null,
  };
  card.word = card.head.querySelector(".word");
  card.time = card.head.querySelector(".time");
  for (const g of entry.groups) {
    if (g.station) card.blocks.push(station(g));
    for (const c of g.cards) body(card, c, g, options);
  }
  if (shown.hidden)
    card.blocks.push(el("p", { class: "hiddenitems", text: "+ " + shown.hidden + " of other courses" }));
  return card;
}

// visible returns which items a course filter shows, and how many it hides.
function visible(entry, filter) {
  const out = { items: [], hidden: 0, hiddenUndone: 0 };
  for (const g of entry.groups)
    for (const c of g.cards)
      for (const it of c.items || []) {
        if (it.depth) continue;
        if (!filter || it.course === filter)
          out.items.push({ job: c.job, i: it.i, done: Boolean(it.done), void: Boolean(it.void) });
        else {
          out.hidden++;
          if (!it.done && !it.void) out.hiddenUndone++;
        }
      }
  return out;
}

function header(entry) {
  return el(
    "header",
    null,
    el(
      "div",
      { class: "row" },
      el("h2", { dir: "auto", text: entry.head, id: "h-" + entry.key }),
      el("p", { class: "age" }, el("b", { class: "word" }), " ", el("span", { class: "time" })),
    ),
    entry.who && el("p", { class: "who", dir: "auto", text: entry.who }),
    el("p", { class: "meta" }, el("span", { dir: "auto", text: entry.meta }), el("kbd", { class: "hint" })),
  );
}

function station(g) {
  const state = g.done ? "✓ done" : g.left ? g.left + " left" : "waiting";
  return el(
    "h3",
    { class: g.done ? "station ready" : "station" },
    el("bdi", { text: g.station }),
    " ",
    el("span", { text: state }),
  );
}

function body(card, c, group, options) {
  for (const [kind, text] of banners(c)) card.blocks.push(el("p", { class: "banner " + kind, dir: "auto", text }));
  for (const n of c.notes || []) card.blocks.push(note("p", n, options));
  const items = c.items || [];
  for (let i = 0; i < items.length; i++) {
    const it = items[i];
    if (it.depth) continue; // rendered with its item
    if (options.filter && it.course !== options.filter) continue;
    const modifiers = [];
    while (i + 1 < items.length && items[i + 1].depth) modifiers.push(items[++i]);
    card.blocks.push(item(c, it, modifiers, group, options));
  }
  const firstItem = items.findIndex((it) => !it.depth);
  for (const it of firstItem < 0 ? items : items.slice(0, firstItem))
    card.blocks.push(el("div", { class: "item static" }, line(it, options)));
  if (c.raw) card.blocks.push(el("pre", { class: "raw", text: c.raw }));
}

function item(c, it, modifiers, group, options) {
  const isOwn = group.isOwn || group.station === options.setup.name;
  const isStatic = !isOwn || it.void || c.state !== "open";
  const b = el(
    isStatic ? "div" : "button",
    {
      class: "item" + (isStatic ? " static" : "") + (it.done ? " done" : "") + (group.done ? " stationdone" : ""),
      type: isStatic ? null : "button",
      "aria-pressed": isStatic ? null : String(Boolean(it.done)),
      data: { job: c.job, item: it.i },
    },
    line(it, options),
  );
  for (const m of modifiers) b.append(line(m, options));
  return b;
}

function line(it, options) {
  const classes = ["line"];
  if (it.depth) classes.push("mod", "d" + Math.min(it.depth, 5));
  for (const k of ["void", "refire", "raw"]) if (it[k]) classes.push(k);
  if (!it.raw && mentionsAllergy(it.name, options.setup)) classes.push("alarm");
  const name = el("span", { class: "name", dir: "auto" });
  if (it.void) name.append(el("em", { class: "badge", text: "VOID" }), " ");
  if (it.refire) name.append(el("em", { class: "badge", text: "REFIRE" }), " ");
  if (it.no_route && !it.depth) name.append(el("em", { class: "badge", text: "NO ROUTE" }), " ");
  name.append(el(it.void ? "s" : "span", { text: it.name }));
  if (it.of) name.append(" ", el("small", { text: "of " + it.of }));
  if (it.seat) name.append(" ", el("small", { class: "seat", text: "seat " + it.seat }));
  const quantity = it.depth && it.quantity === "1" ? "" : it.quantity;
  const l = el("span", { class: classes.join(" ") }, el("b", { class: "quantity", text: quantity }), name);
  for (const n of it.notes || []) l.append(note("span", n, options));
  return l;
}

function note(tag, text, options) {
  const alarm = mentionsAllergy(text, options.setup);
  return el(tag, { class: alarm ? "note alarm" : "note", dir: "auto" }, alarm && el("b", { text: "⚠ " }), text);
}

function mentionsAllergy(text, setup) {
  const t = text.toLowerCase();
  return setup.alarm.some((a) => t.includes(a));
}

function banners(c) {
  const out = [];
  const add = (is, kind, text) => is && out.push([kind, text]);
  add(c.void, c.acked ? "void acked" : "void", "VOID");
  add(c.kind === "correction", c.acked ? "void acked" : "void", "CANCELLED AFTER IT WAS ORDERED");
  add(c.duplicate, "duplicate", "POSSIBLE DUPLICATE");
  add(c.reprint, "duplicate", "REPRINT");
  add(c.for, "for", "FOR " + c.for + (c.down ? " (" + c.down + " down)" : ""));
  add(c.paper, "duplicate", "PRINTED AT " + c.paper + " (screen was down)");
  add(c.add_on, "addon", "ADD-ON to an order already shown");
  add(c.refire, "refire", "REFIRE");
  add(c.no_route, "noroute", "NO ROUTE");
  add(c.kind === "slip", "slip", "EXPIRED: too old to be sent");
  add(c.kind === "test", "slip", "TEST: nothing to cook");
  return out;
}

function foot(entry, options, shown) {
  let text = "Bump",
    kind = "act bump";
  if (entry.mustAck) [text, kind] = ["Acknowledge VOID", "act ack"];
  else if (shown.hidden) [text, kind] = ["Done: " + options.filter, "act some"];
  else if (options.setup.expo)
    [text, kind] = entry.ready ? ["Bump order", "act bump ready"] : ["Not ready", "act wait"];
  return el(
    "div",
    { class: "foot" },
    el("button", { type: "button", class: kind, "aria-describedby": "h-" + entry.key, text }),
  );
}
