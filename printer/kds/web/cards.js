// Draws an order as a card: heads, blocks, and a foot. A block is never split; columns.js puts the blocks
// of a card into one column or several.

import { el } from "./dom.js";
import { courseName, fireOf, fireText, nameOf, short, tableOf } from "./store.js";
import { clock } from "./time.js";
import { word } from "./words.js";

// LONG is how many characters stay together: more than that is divided, so that no text is higher than
// a column, whatever the till sends.
const LONG = 140;

// A Card is a drawn order. blocks: [{node, item, keep, content}]. Blocks with the same item are drawn in one
// element, which itemElement makes. keep: the block must not be the last of a column; content: a cook can work
// from it.
export class Card {
  constructor(order, { setup, filter }) {
    Object.assign(this, { order, setup, filter });
    this.blocks = [];
    this.targets = []; // the items that are shown, as {job, i, done}
    this.hidden = 0; // items of other courses than the filter's
    this.hiddenUndone = 0;
    this.alarms();
    if (order.bumped_clock) this.belongsTo(order);
    if (setup.pass) this.parts();
    else for (const t of order.tickets || []) this.ticket(t);
    if (this.hidden) this.add(el("p", { class: "otheritems", text: word("other_courses", { n: this.hidden }) }));
    for (const v of order.voids || []) this.void(v);
    this.act = this.action(order);
    this.foot = this.drawFoot();
  }

  add(node, item, keep) {
    const content = Boolean(item) || node.matches(".raw, .voided, .partline");
    this.blocks.push({ node, item, keep, content });
  }

  banner(kind, text) {
    for (const piece of pieces(text)) this.add(el("p", { class: "banner " + kind, dir: "auto", text: piece }));
  }

  // isVoid reports whether a ticket only cancels.
  isVoid(t) {
    const isWhole = (this.order.voids || []).some((v) => v.whole && v.job === t.job);
    return isWhole || ((t.items || []).length > 0 && t.items.every((it) => it.depth || it.void));
  }

  // belongsTo adds the banner of the order o, which adds to, changes or voids one that was bumped before.
  belongsTo(o) {
    const isChange = (o.voids || []).some((v) => v.changed);
    const isAddOn = (o.tickets || []).some((t) => !this.isVoid(t));
    const what = isChange ? "change_of" : isAddOn ? "addon_to" : "void_of";
    this.banner(what === "addon_to" ? "addon" : "void", word(what, { order: nameOf(o), time: o.bumped_clock }));
  }

  // head draws the top. A card in several columns has one in each; those after the first say which part they are
  // instead of the table, and the last has the button. It is drawn with its longest texts, so that the measured
  // height holds: board.js writes the age and the key later.
  head(part, of) {
    const o = this.order;
    const type = part === 1 && !o.dine_in && nameOf(o) !== short(o.type) ? o.type : "";
    const table = part === 1 ? tableOf(o) : "";
    const names = el(
      "button",
      { type: "button", class: "names" },
      el("kbd", { class: "hint", text: "M" }),
      el("b", { class: "number", dir: "auto", text: nameOf(o) }),
      table && el("b", { class: "table", dir: "auto", text: table }),
      o.rush && el("em", { class: "badge rush", text: word("rush") }),
      type && el("span", { class: "type", dir: "auto", text: short(type) }),
      part > 1 && el("span", { class: "part", text: part + "/" + of }),
      el(
        "span",
        { class: "age" },
        el("b", { class: "word", text: word("late") }),
        " ",
        el("span", { class: "time", text: "00:00" }),
      ),
    );
    return el("header", { class: "head" }, el("h2", null, names), this.isPlain && part === of && this.button());
  }

  // isPlain says that the button means only that the order is made. Any other has the whole width of the foot.
  get isPlain() {
    return this.act[0] === "bump";
  }

  button() {
    const [kind, text] = this.act;
    return el("button", { type: "button", class: "act " + kind, "aria-label": text + ", " + nameOf(this.order), text });
  }

  // alarms lifts allergies to the top of the card. They are written at their item as well.
  alarms() {
    const texts = [];
    for (const a of this.order.alarms || []) if (!texts.includes(a.text)) texts.push(a.text);
    for (const t of texts)
      for (const text of pieces(t))
        this.add(el("p", { class: "alarm top", dir: "auto" }, el("b", { text: "⚠ " }), text), null, true);
    this.alarmBlocks = this.blocks.length;
    if (texts.length && this.order.alarm_acked_at)
      this.add(el("p", { class: "small", text: word("read", { time: clock(this.order.alarm_acked_at) }) }));
  }

  // parts draws what the pass knows of each station's part of the order.
  parts() {
    const left = new Set(this.order.tickets || []);
    for (const p of this.order.parts || []) {
      const [says, ...more] = pieces(partText(p));
      const row = el(
        "div",
        { class: "station " + p.state },
        el("span", { class: "says", dir: "auto", text: says }),
        canTick(p) && tick(p, "", word(p.ticked_at ? "made" : "is_made")),
      );
      const tickets = Array.from(left).filter((t) => t.station === p.station);
      this.add(row, null, tickets.length > 0 || (p.lines || []).length > 0);
      for (const text of more) this.add(el("p", { class: "partline", dir: "auto", text }));
      for (const t of tickets) {
        left.delete(t);
        this.ticket(t);
      }
      if (!tickets.length)
        for (const line of p.lines || [])
          for (const text of pieces(lineText(line))) this.add(el("p", { class: "partline", dir: "auto", text }));
    }
    for (const t of left) this.ticket(t);
  }

  ticket(t) {
    const items = itemsOf(t);
    const added = this.isVoid(t) ? "void" : "added";
    if (t.added)
      this.add(el("h3", { class: "section " + added, text: word(added) + " " + t.clock }), null, true);
    for (const [kind, text] of banners(t, this.order.kind)) this.banner(kind, text);
    // Allergies of the whole ticket are at the top already.
    for (const n of (t.notes || []).filter((n) => !n.alarm))
      for (const text of pieces(noteText(n, t.job))) this.add(note("p", { ...n, text }));
    const groups = new Map(); // by course, in order of appearance
    for (const item of items) {
      if (this.filter && item.line.course !== this.filter) {
        this.hidden++;
        if (!item.line.done && !item.line.void) this.hiddenUndone++;
        continue;
      }
      const course = item.line.course || "";
      if (!groups.has(course)) groups.set(course, []);
      groups.get(course).push(item);
    }
    const heading = (course) => short(courseName(course));
    let above = "";
    for (const [course, items] of groups) {
      if (course) this.add(el("h3", { class: "section course", dir: "auto", text: heading(course) }), null, true);
      else if (above) this.add(el("hr", { class: "section course" }), null, true);
      above = course;
      for (const same of combine(items)) this.item(t, same);
    }
    for (const text of t.raw ? pieces(t.raw) : []) this.add(el("pre", { class: "raw", text }));
  }

  // item draws one item, or several that are the same in everything.
  item(t, same) {
    const { line, modifiers } = same[0];
    const isOwn = !this.setup.pass || t.station === this.setup.name;
    const item = {
      job: t.job,
      numbers: same.map((s) => s.line.i),
      isStatic: !isOwn || Boolean(line.void) || t.state !== "open" || line.depth > 0,
      done: Boolean(line.done),
      name: line.name,
      fire: line.fire || 0,
    };
    if (!item.isStatic) for (const i of item.numbers) this.targets.push({ job: t.job, i, done: item.done });
    const quantity = same.reduce((sum, s) => sum + Number(s.line.quantity), 0);
    const seats = Array.from(new Set(same.map((s) => s.line.seat).filter(Boolean)));
    const chips = seats.map((seat) => word("seat", { seat: short(seat) }));
    if (line.fire && line.fire !== fireOf(this.order)) chips.push(fireText(line.fire));
    this.lines({ ...line, quantity: same.length > 1 ? String(quantity) : line.quantity, chips }, item);
    // The word VOID once for an item: its modifiers are void with it.
    for (const m of modifiers) this.lines(line.void ? { ...m, withItem: true } : m, item);
  }

  lines(line, item) {
    pieces(line.name).forEach((text, n) => this.add(drawLine(line, text, n), item));
    for (const n of line.notes || [])
      for (const text of pieces(noteText(n, item.job))) this.add(note("span", { ...n, text }), item);
  }

  // void draws what was cancelled or changed, and when. It stands at the end, where the button is. Its ticket, which
  // is above, has the full list.
  void(v) {
    const seen = v.acked_at ? " acked" : "";
    const lines = v.lines || [];
    const more = lines.length > 3 ? [word("and_more", { n: lines.length - 2 })] : [];
    const text = [
      v.whole ? word("all_of_it") : [...lines.slice(0, more.length ? 2 : 3), ...more].join(", "),
      v.bumped_clock && word("bumped_this", { time: v.bumped_clock }),
      v.acked_at && word("read", { time: clock(v.acked_at) }),
    ];
    const add = (head, text) =>
      this.add(el("p", { class: "voided" + seen, dir: "auto" }, head && el("b", { text: head + " " }), text));
    const what = word(v.changed ? "changed" : "void") + " " + v.clock;
    pieces(text.filter(Boolean).join(" · ")).forEach((piece, n) => add(n === 0 && what, piece));
  }

  drawFoot() {
    const o = this.order;
    const stations = (o.also_at || []).map(short).join(", ");
    return el(
      "div",
      { class: "foot" },
      stations && el("p", { class: "also", dir: "auto", text: word("also_at", { stations }) }),
      !this.isPlain && this.button(),
    );
  }

  // action is what the button does, and its text.
  action(o) {
    if (o.must_ack_void)
      return ["ack", word(o.voids.some((v) => !v.acked_at && !v.changed) ? "ack_void" : "ack_change")];
    if (o.must_ack_alarm) return ["ack alarm", word("ack_alarm")];
    if (this.hidden) return ["some", word("done_with", { course: short(this.filter) })];
    if (!this.setup.pass) return ["bump", word("bump")];
    if (o.cancelled) return ["wait", word("put_away")];
    return o.ready ? ["bump ready", word("send_out")] : ["wait unready", word("not_ready")];
  }
}

// canTick says that somebody at the pass must see when a part is made.
const canTick = (p) => /^(out|ticked|expired)$/.test(p.state);

const tick = (p, more, text) =>
  el("button", {
    type: "button",
    class: "tick" + more,
    "aria-pressed": String(p.ticked_at > 0),
    "aria-label": text + ", " + word("made_at", { station: p.title || p.station }),
    data: { part: p.station },
    text,
  });

// partText is what is known of a part.
function partText(p) {
  const texts = [
    p.void && word("void"), word("part_" + p.told, { n: p.left || 0, time: p.clock || "" }),
    p.at && word("at", { station: p.at }), p.state === "out" && word("cannot_know"),
    /held|expired/.test(p.state) && word("call_somebody"), p.why,
  ];
  return (p.title || p.station) + ": " + texts.filter(Boolean).join(", ");
}

// partChip says in a word how far a part is.
export function partChip(p) {
  const plain = { open: p.left || "0", done: "✓", ticked: "✓" }[p.state];
  const says = plain || word("chip_" + p.state + (p.state === "out" ? "_" + p.kind : ""));
  const text = stationName(short(p.title || p.station)) + " " + says;
  return canTick(p) ? tick(p, " told " + p.state, text) : el("span", { class: "told " + p.state, dir: "auto", text });
}

// itemElement makes the element that holds the lines of an item. An item that is divided has several.
export function itemElement(item) {
  return el(item.isStatic ? "div" : "button", {
    class: "item" + (item.isStatic ? " static" : "") + (item.done ? " done" : ""),
    type: item.isStatic ? null : "button",
    "aria-pressed": item.isStatic ? null : String(item.done),
    data: { job: item.job, items: item.numbers.join(" "), ...(item.fire && { fire: item.fire }) },
  });
}

// stationName is a station as paper has it: HOT LINE if the configuration has hot-line.
const stationName = (name = "") => name.replace(/[-_]/g, " ").toUpperCase();

function banners(t, kind) {
  const out = [];
  const add = (is, kind, key, values) => is && out.push([kind, word(key, values)]);
  add(t.duplicate, "duplicate", "duplicate");
  add(t.reprint, "duplicate", "reprint");
  const refused = t.refused_by || [];
  add(refused.length, "for", "refused_by", { stations: refused.map(stationName).join(", ") });
  const isFor = t.for && !refused.includes(t.for);
  add(isFor, "for", t.down ? t.down + "_down" : "for", { station: stationName(t.for) });
  add(t.paper, "duplicate", "printed_at", { station: stationName(t.paper) });
  add(t.refire, "refire", "refire");
  add(t.no_route, "for", "no_route");
  add(t.raw, "for", "unreadable");
  add(kind === "slip", "for", "too_old");
  add(kind === "test", "for", "nothing_to_cook");
  return out;
}

// itemsOf groups the lines of a ticket into items with their modifiers. Modifiers without an item before
// them stand alone, so that nothing is lost.
function itemsOf(t) {
  const items = [];
  let last = null;
  for (const line of t.items || []) {
    if (line.depth && last) last.modifiers.push(line);
    else items.push({ line, modifiers: [] });
    if (!line.depth) last = items[items.length - 1];
  }
  return items;
}

// combine returns lists of items that are the same in everything but their number and seat: they are drawn as one.
// An item that is done is not the same as one that is not.
function combine(items) {
  const lists = new Map();
  items.forEach((item, n) => {
    const { line, modifiers } = item;
    // Two burgers with two cheeses do not say whose the cheeses are.
    const counts = /^\d+$/.test(line.quantity) && (!modifiers.length || line.quantity === "1");
    const own = ({ i, seat, ...rest }) => rest;
    const same = counts ? JSON.stringify([{ ...own(line), quantity: "" }, modifiers.map(own)]) : n;
    if (!lists.has(same)) lists.set(same, []);
    lists.get(same).push(item);
  });
  return lists.values();
}

// drawLine draws an item or a modifier; part > 0 is a further part of a long name.
function drawLine(line, text, part) {
  const classes = ["line"];
  if (line.depth) classes.push("mod", "d" + Math.min(line.depth, 5));
  for (const k of ["void", "refire", "raw", "alarm"]) if (line[k]) classes.push(k);
  if (line.colour) classes.push("tinted", line.colour);
  const name = el("span", { class: "name", dir: "auto" });
  const badge = (is, text) => is && part === 0 && name.append(el("em", { class: "badge", text }), " ");
  badge(line.void && !line.withItem, word("void"));
  badge(line.refire, word("refire"));
  badge(line.no_route && !line.depth, word("no_route"));
  if (line.alarm && part === 0) name.append(el("b", { text: "⚠ " }));
  name.append(el(line.void ? "s" : "span", { text }));
  if (part === 0)
    for (const text of line.chips || []) name.append(" ", el("small", { class: "seat", text }));
  return el("span", { class: classes.join(" ") }, el("b", { class: "quantity", text: part ? "" : count(line) }), name);
}

// count is how many; the sign makes more than one stand out.
function count(line) {
  if (line.quantity === "1") return line.depth ? "" : "1";
  return line.quantity ? line.quantity + "×" : "";
}

// lineText is a dish of a part, or what is left of a void, which matches no dish.
const lineText = (line) => (line.void ? word("void") + " " + (line.text || word("all_of_it")) : line.text);

// dayName is a day like 2026-02-07 in the language of the page.
function dayName(day) {
  const { lang } = document.documentElement;
  const parts = { weekday: "short", day: "numeric", month: "short", timeZone: "UTC" };
  return new Date(day).toLocaleDateString(lang === "en" ? "en-GB" : lang, parts);
}

// noteText is the text of a note, or the sentence that its text is a part of.
function noteText({ key, text, clock, day, tickets, part, parts }, job) {
  if (!key) return text;
  const first = tickets > 1 ? word("tickets", { n: tickets }) : day && dayName(day);
  const what = [first, text].filter(Boolean).join(", ") || word("order");
  return word(key, { what, job, time: clock || "–", piece: parts > 1 ? " (" + part + "/" + parts + ")" : "" });
}

function note(tag, { text, alarm, void: isVoid }) {
  const look = isVoid ? "voided" : "note";
  return el(tag, { class: alarm ? "alarm" : look, dir: "auto" }, alarm && el("b", { text: "⚠ " }), text);
}

// pieces divides a text into its lines, and long ones between words.
function pieces(text) {
  const out = [];
  for (const line of text.split("\n")) {
    let rest = Array.from(line);
    while (rest.length > LONG) {
      const space = rest.lastIndexOf(" ", LONG);
      const at = space > LONG / 2 ? space + 1 : LONG;
      out.push(rest.slice(0, at).join(""));
      rest = rest.slice(at);
    }
    out.push(rest.join(""));
  }
  return out;
}
