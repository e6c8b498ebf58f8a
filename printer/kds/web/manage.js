// The page for managers: what is wrong, what to do about it, and the tickets that need somebody. It asks the
// server every few seconds. Each change names the version of what this page shows, so the server refuses it if
// that has changed.

import { byId, el, removeChildren, setText } from "./dom.js";
import { draw } from "./manage_draw.js";
import { paper } from "./manage_paper.js";

const EVERY = 4000;
const LOST = 12000; // without an answer for so long, the page says that it is old
let state = { stations: [] };
let behind = 0; // the server's clock minus ours
let lastAnswer = Date.now();
let asked = 0;

const now = () => Date.now() + behind;
const plural = (n, what) => n + " " + what + (n === 1 ? "" : "s");

function ago(ms) {
  const m = Math.floor(Math.max(ms, 0) / 60000);
  if (m < 1) return "less than a minute";
  if (m < 60) return m + " min";
  return m < 2880 ? Math.floor(m / 60) + " h " + (m % 60) + " min" : Math.floor(m / 1440) + " days";
}

function clock(at, options = { hour: "2-digit", minute: "2-digit" }) {
  try {
    return new Intl.DateTimeFormat("en-GB", { timeZone: state.zone || undefined, ...options }).format(new Date(at));
  } catch (e) {
    return new Date(at).toLocaleTimeString();
  }
}

// age shows for how long; it is kept up to date without drawing anything else.
const age = (at, before, after) => el("span", { data: { at: Date.parse(at), before, after: after || "" } });
function showAges() {
  for (const e of document.querySelectorAll("[data-at]"))
    setText(e, (e.dataset.before || "") + ago(now() - e.dataset.at) + e.dataset.after);
}

function say(text, failed) {
  const e = byId("said");
  e.textContent = text;
  e.className = failed ? "failed" : "";
  clearTimeout(say.timer);
  say.timer = setTimeout(() => (e.textContent = ""), failed ? 15000 : 8000);
}

// change asks for a change, and returns "" if it was made, else why not.
async function change(path, body) {
  try {
    const got = await fetch("/manage/api" + path, {
      method: "POST",
      credentials: "same-origin",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify(body),
    });
    const text = got.ok ? "" : (await got.text()).trim();
    return text.startsWith("{") ? JSON.parse(text).error.message : text;
  } catch (e) {
    return "No answer from ticketrail. Look whether it was done before you try again.";
  }
}

async function post(path, body, done) {
  const why = await change(path, body);
  say(why ? upper(why) : done, why);
  await ask();
}

// moveAll moves tickets in their order. One that is being tried at this moment cannot be moved, and must not keep
// the others.
async function moveAll(tickets, to) {
  let moved = 0;
  let why = "";
  for (const [id, version] of tickets) {
    const refused = await change("/move", { ids: [id], versions: [version], to });
    if (refused) why = refused;
    else moved++;
  }
  say(moved + " of " + plural(tickets.length, "ticket") + " will print at " + to + ". " + upper(why), why);
  await ask();
}

// button needs two taps, because both a second copy and a cancelled ticket cost a dinner. While its request is
// under way it takes no other.
function button(label, sure, act, kind) {
  const b = el("button", { type: "button", class: kind || "", text: label });
  let calm;
  b.addEventListener("click", async () => {
    clearTimeout(calm);
    if (b.textContent === label) {
      b.textContent = sure();
      b.classList.add("sure");
      calm = setTimeout(() => {
        b.textContent = label;
        b.classList.remove("sure");
      }, 6000);
      return;
    }
    b.disabled = true;
    await act();
    b.disabled = false;
    b.textContent = label;
    b.classList.remove("sure");
  });
  return b;
}

// choice is a menu of stations, given as [name, state]. Where no other is asked for, it begins with one that works.
function choice(stations, first, label) {
  const list = el("select", { "aria-label": label });
  for (const [name, is] of stations)
    list.append(el("option", { value: name, text: name + (is === "up" ? "" : " (" + STATES[is] + ")") }));
  const works = stations.find(([name]) => name === first) || stations.find(([, is]) => is === "up") || stations[0];
  list.value = works[0];
  return list;
}

const configured = () => state.stations.filter((s) => s.configured).map((s) => [s.name, s.state]);
const upper = (text) => text.charAt(0).toUpperCase() + text.slice(1);
const needsDecision = (t) => t.state === "held" || t.state === "buried" || t.state === "failed";
const called = (t) => t.order || { slip: "A slip", test: "A test ticket" }[t.kind] || "Ticket " + t.id;

// ---- tickets

const WORDS = {
  held: "HELD", buried: "FAILED", failed: "FAILED", pending: "WAITS", printing: "PRINTING", shown: "shown",
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

const ticketParts = (t, i) => [
  t.id,
  needsDecision(t) ? "bad" : "",
  [ticketHead, called(t), t.state, t.station, !!t.reprint, t.received_at],
  [ticketWhy, t.state, t.doubt, needsDecision(t) || t.state === "expired" ? t.reason : ""],
  [ticketActs, t.id, t.version, t.state, called(t), t.station, configured()],
  [ticketPaper, t.id, t.version, t.station, called(t), needsDecision(t) && i < SHOWN_OPEN],
];

// ---- stations and everything else that is wrong

const STATES = { up: "works", unknown: "no ticket yet", down: "DOWN", held: "STOPPED", orphan: "NOT CONFIGURED" };

const linkTo = (id, text) => el("p", { class: "do" }, el("a", { href: "#" + id, text }));

function stationDo(s) {
  if (s.state === "orphan") return el("p", { class: "do", text: "Move its tickets to another station." });
  if (s.state === "held") return el("p", { class: "do", text: "Let it print again when it is ready." });
  if (s.state !== "down" && s.held) return linkTo("decide", "Decide below what becomes of them");
  if (s.kind === "screen") return linkTo("pairing", "Open its page on its tablet. A new tablet is paired below");
  return s.advice && el("p", { class: "do" }, el("bdi", { text: upper(s.advice) }));
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

function findingText(text) {
  return el("p", {}, el("bdi", { text: upper(text) }));
}

// The advice of the command line names commands. Here the same is done with a tap.
function findingDo(subject, text, s) {
  const box = el("div");
  if (s) box.append(stationDo(s) || "");
  else if (subject === "orders") box.append(linkTo("refused", "See below why, and tell your point of sale's support"));
  else if (subject === "tickets") box.append(linkTo("decide", "Decide below what becomes of them"));
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

function findingParts(f) {
  const s = state.stations.find((x) => x.name === f.subject && (x.state !== "up" || x.held || x.advice));
  const tickets = state.tickets
    .filter((t) => s && t.station === s.name && (t.state === "pending" || t.state === "held"))
    .sort((a, b) => a.id - b.id)
    .map((t) => [t.id, t.version]);
  const stopped = s && (s.state === "down" || s.state === "held" || s.state === "orphan");
  return [
    f.subject + " " + f.text.slice(0, 20),
    f.level === "fail" ? "bad" : "warn",
    [findingHead, f.subject, f.level, s && s.since, s && STATES[s.state] !== "works" && STATES[s.state]],
    [findingText, f.text],
    [findingDo, f.subject, f.do, s && { state: s.state, held: s.held, advice: s.advice, kind: s.kind }],
    [stationActs, f.subject, s && s.hold && s.hold.since, stopped ? tickets : [], configured()],
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

const stationParts = (s) => [
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

const rejectParts = (r) => [
  r.id,
  "",
  [rejectRow, r.time, r.message, r.venue, r.device, r.address, r.count || 0],
];

function fineRow(subject, text) {
  return el("div", { class: "row" }, el("b", { text: subject }), el("span", {}, el("bdi", { text })));
}

// list draws a list, and hides its heading if it is empty.
function list(id, items, parts) {
  draw(byId(id), items, parts);
  const section = byId(id).closest("section");
  if (section) section.hidden = !items.length;
}

function show() {
  const wrong = state.findings.filter((f) => f.level !== "ok");
  const fails = wrong.filter((f) => f.level === "fail").length;
  const summary = byId("summary");
  const bad = plural(fails, "thing") + (fails === 1 ? " needs you" : " need you");
  setText(summary, fails ? bad : wrong.length ? "It works, but look" : "All is well");
  summary.className = fails ? "bad" : wrong.length ? "warn" : "good";
  document.title = (fails ? "(" + fails + ") " : "") + "ticketrail";
  list("problems", wrong, findingParts);
  list("held", state.tickets.filter(needsDecision), ticketParts);
  list("stations", state.stations, stationParts);
  list("waiting", state.tickets.filter((t) => !needsDecision(t)), ticketParts);
  list("printed", state.printed, ticketParts);
  list("rejects", state.rejects, rejectParts);
  list("fine", state.findings.filter((f) => f.level === "ok"), (f) => [f.subject, "", [fineRow, f.subject, f.text]]);
  const more = byId("more");
  more.hidden = !state.more;
  setText(more, "and " + plural(state.more, "older ticket") + ". They print first.");
  byId("queue").hidden = !state.more && !state.tickets.some((t) => !needsDecision(t));
  tick();
}

// tick shows what changes with time alone. A page that has no answer covers nothing: what it shows is old, and
// says so first.
function tick() {
  const lost = Date.now() - lastAnswer > LOST;
  byId("notlive").hidden = !lost;
  if (lost)
    setText(byId("notlive"), "NOT LIVE since " + clock(lastAnswer + behind) + ". ticketrail does not answer.");
  document.body.classList.toggle("old", lost);
  const day = { weekday: "short", hour: "2-digit", minute: "2-digit", second: "2-digit" };
  if (state.at) setText(byId("clock"), clock(now(), day));
  showAges();
}

async function ask() {
  const turn = ++asked;
  try {
    const got = await fetch("/manage/api/state", { credentials: "same-origin", cache: "no-store" });
    if (got.status === 401 || got.status === 403) {
      location.replace("/"); // the pairing was ended: it shows a code
      return;
    }
    const next = got.ok && (await got.json());
    if (!next || turn < asked) return; // a later question was asked: this answer may be from before a change
    state = next;
  } catch (e) {
    return; // tick says since when there is no answer
  }
  behind = Date.parse(state.at) - Date.now();
  lastAnswer = Date.now();
  show();
}

document.addEventListener("visibilitychange", () => document.hidden || ask());
setInterval(() => document.hidden || ask(), EVERY);
setInterval(tick, 1000);
ask();
