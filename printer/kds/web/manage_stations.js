// What is wrong, the stations and the refused requests on the page for managers.

import { el } from "./dom.js";
import { STATES, button, choice, moveAll, plural, post, upper } from "./manage_act.js";
import { age, clock } from "./manage_time.js";

const REFUSED = "See below why. Print what was not taken again, and tell the support of your point of sale";

const linkTo = (id, text) => el("p", { class: "do" }, el("a", { href: "#" + id, text }));

function stationDo(s) {
  if (s.state === "orphan") return el("p", { class: "do", text: "Move its tickets to another station." });
  if (s.state === "held") return el("p", { class: "do", text: "Let it print again when it is ready." });
  if (s.state !== "down" && s.held) return linkTo("decide", "Decide below what becomes of them");
  if (s.kind === "screen") return linkTo("pairing", "Open its page on its tablet. A new tablet is paired below");
  // A display that refuses tickets is tried every minute: nobody needs the command.
  const advice = s.advice && s.advice.replace(/, then ticketrail printers resume .*/, "");
  return advice && el("p", { class: "do" }, el("bdi", { text: upper(advice) }));
}

function findingHead(subject, level, since, stateName) {
  const word = stateName || (level === "fail" ? "NEEDS YOU" : "LOOK AT THIS");
  return el(
    "div",
    { class: "cardhead" },
    el("b", {}, el("bdi", { text: subject })),
    el("span", { class: "tag " + level, text: word }),
    since && el("span", { class: "soft" }, age(since, "for ")),
  );
}

function findingText(text, examples) {
  const lines = examples.map((line) => el("p", { class: "soft" }, el("bdi", { text: line })));
  return el("div", {}, el("p", {}, el("bdi", { text: upper(text) })), ...lines);
}

// The advice of the command line names commands. Here the same is done with a tap.
function findingDo(text, s) {
  const box = el("div");
  if (s) box.append(stationDo(s) || "");
  else if (text.startsWith("ticketrail rejects")) box.append(linkTo("refused", REFUSED));
  else if (text.startsWith("ticketrail jobs")) box.append(linkTo("decide", "Decide below what becomes of them"));
  else if (text) box.append(el("p", { class: "do" }, el("bdi", { text })));
  return box;
}

function stationActs(name, hold, tickets, names) {
  const box = el("div", { class: "acts" });
  if (hold)
    box.append(
      button("Let it print again", () => "Yes, print now", () =>
        post("/stations/" + encodeURIComponent(name) + "/resume", { since: hold }, name + " prints again.")),
    );
  const others = names.filter(([n]) => n !== name);
  if (tickets.length && others.length) {
    const to = choice(others, "", "Move the tickets of " + name + " to");
    box.append(
      button("Move its " + plural(tickets.length, "ticket") + " to", () => "Yes, move to " + to.value, () =>
        moveAll(tickets, to.value)),
      to,
    );
  }
  return box;
}

// findingParts are the parts of the card of what is wrong, for draw.
export const findingParts = (state, configured) => (f) => {
  const s = state.stations.find((x) => x.name === f.subject && (x.state !== "up" || x.held || x.advice));
  const tickets = state.tickets
    .filter((t) => s && t.station === s.name && (t.state === "pending" || t.state === "held"))
    .sort((a, b) => a.id - b.id)
    .map((t) => [t.id, t.version]);
  const stopped = s && (s.state === "down" || s.state === "held" || s.state === "orphan");
  return [
    f.subject,
    f.level === "fail" ? "bad" : "warn",
    [findingHead, f.subject, f.level, s && s.since, s && STATES[s.state] !== "works" && STATES[s.state]],
    [findingText, f.text + (f.detail ? " (" + f.detail + ")" : ""), f.examples || []],
    [findingDo, f.do || "", s && { state: s.state, held: s.held, advice: s.advice, kind: s.kind }],
    [stationActs, f.subject, s && s.hold && s.hold.since, stopped ? tickets : [], configured],
  ];
}

function stationRow(name, stateName, since, waiting, held, meanwhile) {
  const counts = [waiting && plural(waiting, "ticket") + " waiting", held && held + " held"].filter(Boolean).join(", ");
  return el(
    "div",
    { class: "row" },
    el("b", {}, el("bdi", { text: name })),
    el("span", { class: "tag " + stateName, text: STATES[stateName] || stateName }),
    el("span", { class: "soft", text: counts || "nothing waits" }),
    meanwhile && el("span", { text: meanwhile + " prints its tickets" }),
    since && stateName !== "up" && el("span", { class: "soft" }, age(since, "for ")),
  );
}

export const stationParts = (s) => [
  s.name,
  "",
  [stationRow, s.name, s.state, s.since, s.pending + s.printing, s.held, s.stand_in],
];

function rejectRow(time, message, venue, device, address, count) {
  const from = [venue && "venue " + venue, device && "device " + device, address].filter(Boolean).join(" · ");
  return el(
    "div",
    {},
    el("p", {}, el("b", { text: clock(time) + " " }), age(time, "", " ago"), count > 1 && " · " + count + " times"),
    el("p", {}, el("bdi", { text: message })),
    el("p", { class: "soft" }, el("bdi", { text: from })),
  );
}

function rejectActs(id, printed) {
  const box = el("div", { class: "acts" });
  const act = (label, lenient) =>
    button(label, () => "Yes, it was not taken again by hand", () =>
      post("/rejects/" + id + "/print", { version: "refused", lenient }, "It prints, marked LATE."));
  if (printed) box.append(el("p", { class: "soft", text: "Printed " + clock(printed) }));
  else
    box.append(
      el("p", { class: "soft", text: "It was not printed, and the point of sale does not send it again." }),
      act("Print it late", false),
      act("Print it leniently", true),
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
