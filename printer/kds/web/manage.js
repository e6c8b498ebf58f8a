// The page for managers: what is wrong, what to do about it, and the tickets that need somebody. It asks the
// server every few seconds. Each change names the version of what this page shows, so the server refuses it if
// that has changed.

import { byId, setText } from "./dom.js";
import { onChange } from "./manage_act.js";
import { draw } from "./manage_draw.js";
import { findingParts, fineRow, rejectParts, stationParts } from "./manage_stations.js";
import { needsDecision, ticketParts } from "./manage_tickets.js";
import { clock, now, setClock, showAges } from "./manage_time.js";
import { word } from "./words.js";

const EVERY = 5000;
const LOST = 13000; // without an answer for so long, the page says that it is old
let state;
let lastAnswer = Date.now();
let asked = 0;
let waiting = 0; // for so many answers

// list draws a list, and hides its heading if it is empty.
function list(id, items, parts) {
  draw(byId(id), items, parts);
  const section = byId(id).closest("section");
  if (section) section.hidden = !items.length;
}

function show() {
  const configured = state.stations.filter((s) => s.configured).map((s) => [s.name, s.state]);
  const tickets = ticketParts(configured);
  const wrong = state.findings.filter((f) => f.level !== "ok");
  const fails = wrong.filter((f) => f.level === "fail").length;
  const summary = byId("summary");
  const works = wrong.length ? word("manage_sum_warn") : word("manage_sum_good");
  setText(summary, fails ? word("manage_sum_bad", { n: fails }) : works);
  summary.className = fails ? "bad" : wrong.length ? "warn" : "good";
  document.title = (fails ? "(" + fails + ") " : "") + "ticketrail";
  list("problems", wrong, findingParts(state, configured));
  list("held", state.tickets.filter(needsDecision), tickets);
  list("stations", state.stations, stationParts);
  list("waiting", state.tickets.filter((t) => !needsDecision(t)), tickets);
  list("printed", state.printed, tickets);
  list("rejects", state.rejects, rejectParts);
  list("fine", state.findings.filter((f) => f.level === "ok"), (f) => [f.subject, "", [fineRow, f.subject, f.text]]);
  const more = byId("more");
  more.hidden = !state.more;
  setText(more, word("manage_more", { n: state.more }));
  byId("queue").hidden = !state.more && !state.tickets.some((t) => !needsDecision(t));
  tick();
}

// tick shows what changes with time alone. A page that has no answer covers nothing: what it shows is old, and
// says so first.
function tick() {
  const lost = Date.now() - lastAnswer > LOST;
  byId("notlive").hidden = !lost;
  if (lost) setText(byId("notlive"), word("manage_silent", { time: clock(lastAnswer + now() - Date.now()) }));
  document.body.classList.toggle("old", lost);
  const day = { weekday: "short", hour: "2-digit", minute: "2-digit", second: "2-digit" };
  if (state) setText(byId("clock"), clock(now(), day));
  showAges();
}

async function ask() {
  const turn = ++asked;
  waiting++;
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
  } finally {
    waiting--;
  }
  setClock(state.at, state.zone);
  lastAnswer = Date.now();
  show();
}

onChange(ask);
document.addEventListener("visibilitychange", () => document.hidden || ask());
setInterval(() => document.hidden || waiting || ask(), EVERY);
setInterval(tick, 1000);
ask();
