// How a card is drawn. page.go draws the same for the first look; what a band says is decided
// here and there in the same words.

import { el } from "./dom.js";

// draw makes the elements of a card: its head, the blocks of its body (none of which is ever
// parted), and its foot. what: {setup, filter, pending}
export function draw(entry, what) {
  const shown = visible(entry, what.filter);
  const card = {
    entry,
    blocks: [],
    hidden: shown.hidden,
    hiddenUndone: shown.hiddenUndone,
    items: shown.items,
    head: header(entry),
    foot: foot(entry, what, shown),
    word: null,
    time: null,
  };
  card.word = card.head.querySelector(".word");
  card.time = card.head.querySelector(".time");
  for (const g of entry.groups) {
    if (g.station) card.blocks.push(station(g));
    for (const c of g.cards) body(card, c, g, what);
  }
  if (shown.hidden) card.blocks.push(el("p", { class: "others", text: "+ " + shown.hidden + " of other courses" }));
  return card;
}

// visible says which items a course filter leaves, and what it hides.
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

function body(card, c, group, what) {
  for (const [kind, text] of bands(c)) card.blocks.push(el("p", { class: "band " + kind, dir: "auto", text }));
  for (const n of c.notes || []) card.blocks.push(note("p", n, what));
  const items = c.items || [];
  for (let i = 0; i < items.length; i++) {
    const it = items[i];
    if (it.depth) continue; // drawn with the item it is under
    if (what.filter && it.course !== what.filter) continue;
    const under = [];
    while (i + 1 < items.length && items[i + 1].depth) under.push(items[++i]);
    card.blocks.push(item(c, it, under, group, what));
  }
  const lost = items.findIndex((it) => !it.depth);
  for (const it of lost < 0 ? items : items.slice(0, lost))
    card.blocks.push(el("div", { class: "item still" }, line(it, what)));
  if (c.raw) card.blocks.push(el("pre", { class: "raw", text: c.raw }));
}

function item(c, it, under, group, what) {
  const mine = group.mine || group.station === what.setup.name;
  const still = !mine || it.void || c.state !== "open";
  const b = el(
    still ? "div" : "button",
    {
      class: "item" + (still ? " still" : "") + (it.done ? " done" : "") + (group.done ? " made" : ""),
      type: still ? null : "button",
      "aria-pressed": still ? null : String(Boolean(it.done)),
      data: { job: c.job, item: it.i },
    },
    line(it, what),
  );
  for (const m of under) b.append(line(m, what));
  return b;
}

function line(it, what) {
  const classes = ["line"];
  if (it.depth) classes.push("mod", "d" + Math.min(it.depth, 5));
  for (const k of ["void", "refire", "raw"]) if (it[k]) classes.push(k);
  if (!it.raw && alarming(it.name, what.setup)) classes.push("alarm");
  const name = el("span", { class: "n", dir: "auto" });
  if (it.void) name.append(el("em", { class: "mark", text: "VOID" }), " ");
  if (it.refire) name.append(el("em", { class: "mark", text: "REFIRE" }), " ");
  if (it.no_route && !it.depth) name.append(el("em", { class: "mark", text: "NO ROUTE" }), " ");
  name.append(el(it.void ? "s" : "span", { text: it.name }));
  if (it.of) name.append(" ", el("small", { text: "of " + it.of }));
  if (it.seat) name.append(" ", el("small", { class: "seat", text: "seat " + it.seat }));
  const quantity = it.depth && it.quantity === "1" ? "" : it.quantity;
  const l = el("span", { class: classes.join(" ") }, el("b", { class: "q", text: quantity }), name);
  for (const n of it.notes || []) l.append(note("span", n, what));
  return l;
}

function note(tag, text, what) {
  const alarm = alarming(text, what.setup);
  return el(tag, { class: alarm ? "note alarm" : "note", dir: "auto" }, alarm && el("b", { text: "⚠ " }), text);
}

function alarming(text, setup) {
  const t = text.toLowerCase();
  return setup.alarm.some((a) => t.includes(a));
}

function bands(c) {
  const out = [];
  const add = (is, kind, text) => is && out.push([kind, text]);
  add(c.void, c.acked ? "void read" : "void", "VOID");
  add(c.kind === "correction", c.acked ? "void read" : "void", "CANCELLED AFTER IT WAS ORDERED");
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

function foot(entry, what, shown) {
  let text = "Bump",
    kind = "act bump";
  if (entry.mustAck) [text, kind] = ["I have seen the VOID", "act ack"];
  else if (shown.hidden) [text, kind] = ["Done: " + what.filter, "act some"];
  else if (what.setup.expo) [text, kind] = entry.ready ? ["Send out", "act bump ready"] : ["Not ready yet", "act wait"];
  return el(
    "div",
    { class: "foot" },
    el("button", { type: "button", class: kind, "aria-describedby": "h-" + entry.key, text }),
  );
}
