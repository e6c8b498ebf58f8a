// What is wrong, the stations and the refused requests on the page for managers.

import { el } from "./dom.js";
import { button, choice, moveAll, post, stateName, upper } from "./manage_act.js";
import { age, clock } from "./manage_time.js";
import { word } from "./words.js";

const linkTo = (id, text) => el("p", { class: "do" }, el("a", { href: "#" + id, text }));

function findingHead(subject, level, since, state) {
  const urgency = level === "fail" ? "manage_needs_you" : "manage_look_at";
  const text = state ? stateName(state) : word(urgency);
  return el(
    "div",
    { class: "cardhead" },
    el("b", {}, el("bdi", { text: subject })),
    el("span", { class: "tag " + level, text }),
    since && el("span", { class: "soft" }, age(since, "manage_for")),
  );
}

function findingText(text, examples) {
  const lines = examples.map((line) => el("p", { class: "soft" }, el("bdi", { text: line })));
  return el("div", {}, el("p", {}, el("bdi", { text: upper(text) })), ...lines);
}

// The advice of the command line names commands. Here the same is done with a tap. station is not set if the finding
// is of something else.
function findingDo(text, station) {
  const { state, kind } = station || {};
  const box = el("div");
  if (state === "orphan") box.append(el("p", { class: "do", text: word("manage_orphan_do") }));
  else if (text.startsWith("ticketrail printers resume"))
    box.append(el("p", { class: "do", text: word("manage_held_do") }));
  else if (text.startsWith("ticketrail rejects")) box.append(linkTo("refused", word("manage_refused_do")));
  else if (text.startsWith("ticketrail jobs")) box.append(linkTo("decide", word("manage_decide_do")));
  else if (kind === "screen") box.append(linkTo("pairing", word("manage_screen_do")));
  else if (text) {
    // A display that refuses tickets is tried every minute: the command is not needed.
    const advice = station ? upper(text.replace(/, then ticketrail printers resume .*/, "")) : text;
    box.append(el("p", { class: "do" }, el("bdi", { text: advice })));
  }
  return box;
}

function stationActs(name, hold, tickets, names) {
  const box = el("div", { class: "acts" });
  if (hold)
    box.append(
      button(word("manage_resume"), () => word("manage_sure_resume"), () =>
        post("/stations/" + encodeURIComponent(name) + "/resume", { since: hold }, word("manage_resumed", { name }))),
    );
  const others = names.filter(([n]) => n !== name);
  if (tickets.length && others.length) {
    const to = choice(others, "", word("manage_move_from", { name }));
    box.append(
      button(word("manage_move_all", { n: tickets.length }), () => word("manage_sure_move", { to: to.value }), () =>
        moveAll(tickets, to.value)),
      to,
    );
  }
  return box;
}

// findingParts are the parts of the card of what is wrong, for draw.
export const findingParts = (state, configured) => (f) => {
  const s = f.station && state.stations.find((x) => x.name === f.subject);
  const tickets = state.tickets
    .filter((t) => s && t.station === s.name && (t.state === "pending" || t.state === "held"))
    .sort((a, b) => a.id - b.id)
    .map((t) => [t.id, t.version]);
  const stopped = s && (s.state === "down" || s.state === "held" || s.state === "orphan");
  return [
    f.subject,
    f.level === "fail" ? "bad" : "warn",
    [findingHead, f.subject, f.level, s && s.since, s && s.state !== "up" && s.state],
    [findingText, f.text + (f.detail ? " (" + f.detail + ")" : ""), f.examples || []],
    [findingDo, f.do || "", s && { state: s.state, kind: s.kind }],
    [stationActs, f.subject, s && s.hold && s.hold.since, stopped ? tickets : [], configured],
  ];
}

function stationRow(name, state, since, waiting, held, standIn) {
  const counts = [waiting && word("manage_waiting", { n: waiting }), held && word("manage_held", { n: held })];
  return el(
    "div",
    { class: "row" },
    el("b", {}, el("bdi", { text: name })),
    el("span", { class: "tag " + state, text: stateName(state) }),
    el("span", { class: "soft", text: counts.filter(Boolean).join(", ") || word("manage_nothing_waits") }),
    standIn && el("span", { text: word("manage_stand_in", { name: standIn }) }),
    since && state !== "up" && el("span", { class: "soft" }, age(since, "manage_for")),
  );
}

export const stationParts = (s) => [
  s.name,
  "",
  [stationRow, s.name, s.state, s.since, s.pending + s.printing, s.held, s.stand_in],
];

function rejectRow(time, message, venue, device, address, count) {
  const names = [venue && word("manage_venue", { name: venue }), device && word("manage_device", { name: device })];
  const from = [...names, address].filter(Boolean).join(" · ");
  const times = count > 1 && " · " + word("manage_count", { n: count });
  return el(
    "div",
    {},
    el("p", {}, el("b", { text: clock(time) + " " }), age(time, "manage_ago"), times),
    el("p", {}, el("bdi", { text: message })),
    el("p", { class: "soft" }, el("bdi", { text: from })),
  );
}

function rejectActs(id, printed) {
  const box = el("div", { class: "acts" });
  const act = (label, lenient) =>
    button(label, () => word("manage_sure_late"), () =>
      post("/rejects/" + id + "/print", { version: "refused", lenient }, word("manage_late_done")));
  if (printed) box.append(el("p", { class: "soft", text: word("manage_printed_at", { time: clock(printed) }) }));
  else
    box.append(
      el("p", { class: "soft", text: word("manage_not_printed") }),
      act(word("manage_late"), false),
      act(word("manage_lenient"), true),
    );
  return box;
}

// A caller that was turned away has no body that could print.
export const rejectParts = (r) => [
  r.id,
  "",
  [rejectRow, r.time, r.message, r.venue, r.device, r.address, r.count || 0],
  ...(r.size ? [[rejectActs, r.id, r.printed || ""]] : []),
];

export function fineRow(subject, text) {
  return el("div", { class: "row" }, el("b", { text: subject }), el("span", {}, el("bdi", { text })));
}
