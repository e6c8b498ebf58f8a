// The tickets on the page for managers.

import { el } from "./dom.js";
import { button, choice, post, upper } from "./manage_act.js";
import { paper } from "./manage_paper.js";
import { age, clock } from "./manage_time.js";
import { word } from "./words.js";

export const needsDecision = (t) => t.state === "held" || t.state === "failed";
const STATES = ["held", "failed", "pending", "printing", "shown", "taken", "expired"]; // all others are printed

// called is what the page calls a ticket.
function called(t) {
  const kind = { slip: word("manage_slip"), test: word("manage_test") }[t.kind];
  return t.order || kind || word("manage_ticket", { id: t.id });
}

function ticketHead(order, stateName, station, copy, received) {
  const state = STATES.includes(stateName) ? stateName : "printed";
  return el(
    "div",
    { class: "cardhead" },
    el("b", {}, el("bdi", { text: order })),
    el("span", { class: "tag " + stateName, text: word("manage_ticket_" + state) }),
    copy && el("span", { class: "tag", text: word("reprint") }),
    el(
      "span",
      { class: "soft" },
      el("bdi", { text: station }),
      " · " + clock(received) + " · ",
      age(received, "manage_ago"),
    ),
  );
}

function ticketWhy(stateName, doubt, reason) {
  const box = el("div", { class: "why" });
  if (reason) box.append(el("p", { class: "soft" }, el("bdi", { text: upper(reason) })));
  if (doubt && needsDecision({ state: stateName }))
    box.append(el("p", { class: "do", text: word("manage_doubt_held") }));
  else if (doubt && stateName === "pending")
    box.append(el("p", { class: "do", text: word("manage_doubt_pending") }));
  else if (needsDecision({ state: stateName }))
    box.append(el("p", { class: "do", text: word("manage_undecided") }));
  return box;
}

function ticketActs(id, version, stateName, order, station, names) {
  const box = el("div", { class: "acts" });
  const waits = stateName === "pending" || stateName === "printing";
  const others = waits ? names.filter(([n]) => n !== station) : names;
  if (others.length) {
    const at = choice(others, station, word(waits ? "manage_move_order" : "manage_print_order", { order }));
    if (waits)
      box.append(
        button(word("manage_move"), () => word("manage_sure_move", { to: at.value }), () => {
          const body = { ids: [id], versions: [version], to: at.value };
          return post("/move", body, word("manage_moved", { order, to: at.value }));
        }),
        at,
      );
    else
      box.append(
        button(word("manage_again"), () => word("manage_sure_again", { to: at.value }), () => {
          const body = { version, station: at.value };
          return post("/jobs/" + id + "/reprint", body, word("manage_again_done", { order, to: at.value }));
        }),
        at,
      );
  }
  if (waits || needsDecision({ state: stateName }))
    box.append(
      button(word("manage_cancel"), () => word("manage_sure_cancel"), () =>
        post("/jobs/" + id + "/cancel", { version }, word("manage_cancelled", { order })), "danger"),
    );
  return box;
}

function ticketPaper(id, version, station, order, open) {
  const box = el("details", {}, el("summary", { text: word("manage_paper") }));
  box.addEventListener("toggle", async () => {
    if (!box.open || box.children.length > 1) return;
    try {
      const got = await fetch("/manage/api/jobs/" + id + "/paper", { credentials: "same-origin", cache: "no-store" });
      if (!got.ok) throw new Error(got.status);
      box.append(paper(await got.json(), word("manage_paper") + " " + order));
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
