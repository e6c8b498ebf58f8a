// The tickets on the page for managers.

import { el } from "./dom.js";
import { button, choice, post, upper } from "./manage_act.js";
import { paper } from "./manage_paper.js";
import { age, clock } from "./manage_time.js";

export const needsDecision = (t) => t.state === "held" || t.state === "failed";
const called = (t) => t.order || { slip: "A slip", test: "A test ticket" }[t.kind] || "Ticket " + t.id;

const WORDS = {
  held: "HELD", failed: "FAILED", pending: "WAITS", printing: "PRINTING", shown: "shown",
  taken: "taken", expired: "EXPIRED, NOT PRINTED",
};

function ticketHead(order, stateName, station, copy, received) {
  return el(
    "div",
    { class: "cardhead" },
    el("b", {}, el("bdi", { text: order })),
    el("span", { class: "tag " + stateName, text: WORDS[stateName] || "printed" }),
    copy && el("span", { class: "tag", text: "REPRINT" }),
    el(
      "span",
      { class: "soft" },
      el("bdi", { text: station }),
      " · " + clock(received) + " · ",
      age(received, "", " ago"),
    ),
  );
}

function ticketWhy(stateName, doubt, reason) {
  const box = el("div", { class: "why" });
  if (reason) box.append(el("p", { class: "soft" }, el("bdi", { text: upper(reason) })));
  if (doubt && needsDecision({ state: stateName }))
    box.append(el("p", { class: "do", text: "It may have come out. Ask in the kitchen before you print it again." }));
  else if (doubt && stateName === "pending")
    box.append(el("p", { class: "do", text: "It may have come out already. It prints marked POSSIBLE DUPLICATE." }));
  else if (needsDecision({ state: stateName }))
    box.append(el("p", { class: "do", text: "It has not come out. Print it, or cancel it." }));
  return box;
}

function ticketActs(id, version, stateName, order, station, names) {
  const box = el("div", { class: "acts" });
  const waits = stateName === "pending" || stateName === "printing";
  const others = waits ? names.filter(([n]) => n !== station) : names;
  if (others.length) {
    const at = choice(others, station, (waits ? "Move " : "Print ") + order + " at");
    const where = () => " at " + at.value;
    if (waits)
      box.append(
        button("Move to", () => "Yes, move to " + at.value, () =>
          post("/move", { ids: [id], versions: [version], to: at.value }, order + " will print" + where() + "."),
        ),
        at,
      );
    else
      box.append(
        button("Print again at", () => "Yes, print" + where(), () => {
          const body = { version, station: at.value };
          return post("/jobs/" + id + "/reprint", body, order + " will print again" + where() + ".");
        }),
        at,
      );
  }
  if (waits || needsDecision({ state: stateName }))
    box.append(
      button("Cancel it", () => "Yes, nobody cooks it", () =>
        post("/jobs/" + id + "/cancel", { version }, order + " is cancelled."), "danger"),
    );
  return box;
}

function ticketPaper(id, version, station, order, open) {
  const box = el("details", {}, el("summary", { text: "The ticket" }));
  box.addEventListener("toggle", async () => {
    if (!box.open || box.children.length > 1) return;
    try {
      const got = await fetch("/manage/api/jobs/" + id + "/paper", { credentials: "same-origin", cache: "no-store" });
      if (!got.ok) throw new Error(got.status);
      box.append(paper(await got.json(), "Ticket " + order));
    } catch (e) {
      box.open = false;
    }
  });
  box.open = open;
  return box;
}

const SHOWN_OPEN = 3; // papers that are shown without a tap

// ticketParts are the parts of the card of a ticket, for draw. configured are the stations as [name, state].
export const ticketParts = (configured) => (t, i) => [
  t.id,
  needsDecision(t) ? "bad" : "",
  [ticketHead, called(t), t.state, t.station, !!t.reprint, t.received_at],
  [ticketWhy, t.state, t.doubt, needsDecision(t) || t.state === "expired" ? t.reason : ""],
  [ticketActs, t.id, t.version, t.state, called(t), t.station, configured],
  [ticketPaper, t.id, t.version, t.station, called(t), needsDecision(t) && i < SHOWN_OPEN],
];
