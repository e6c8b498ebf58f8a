// What a manager does: buttons, menus, and the requests that they send.

import { byId, el } from "./dom.js";
import { word } from "./words.js";

let renew = () => {}; // asks for what the page shows
export function onChange(f) {
  renew = f;
}

export const upper = (text) => text.charAt(0).toUpperCase() + text.slice(1);

// stateName is the word for the state of a station.
export const stateName = (state) => word("manage_is_" + state);

export function say(text, failed) {
  const e = byId("said");
  e.textContent = text;
  e.className = failed ? "failed" : "";
  clearTimeout(say.timer);
  say.timer = setTimeout(() => (e.textContent = ""), failed ? 15000 : 8000);
}

// send asks for a change, or without a body for a list. It returns the answer, or why there is none.
export async function send(path, body) {
  try {
    const got = await fetch("/manage/api" + path, {
      method: body ? "POST" : "GET",
      credentials: "same-origin",
      headers: { "Content-Type": "application/json" },
      body: body && JSON.stringify(body),
    });
    if (got.ok) return { why: "", answer: await got.json() };
    const text = (await got.text()).trim();
    return { why: text.startsWith("{") ? JSON.parse(text).error.message : text || word("manage_try_again") };
  } catch (e) {
    return { why: word("manage_no_answer") };
  }
}

const change = async (path, body) => (await send(path, body)).why;

export async function post(path, body, done) {
  const why = await change(path, body);
  say(why ? upper(why) : done, why);
  await renew();
}

// moveAll moves tickets in their order. One that is being tried at this moment cannot be moved, and must not keep
// the others.
export async function moveAll(tickets, to) {
  let moved = 0;
  let why = "";
  for (const [id, version] of tickets) {
    const refused = await change("/move", { ids: [id], versions: [version], to });
    if (refused) why = refused;
    else moved++;
  }
  say(word("manage_moved_all", { moved, n: tickets.length, to }) + " " + upper(why), why);
  await renew();
}

const PAUSE = 400; // a double tap counts as one
const CALM = 6000; // a second tap counts for so long

// button needs two taps, because both a second copy and a cancelled ticket cost a dinner. The second one does what
// the button then says: if a menu was changed in between, it asks again. While its request is under way it takes
// no other.
export function button(label, sure, act, kind) {
  const b = el("button", { type: "button", class: kind || "", text: label });
  let timer;
  const say = (text) => {
    b.textContent = text;
    b.classList.toggle("sure", text !== label);
  };
  const pause = () => {
    b.disabled = true;
    setTimeout(() => {
      b.disabled = false;
      b.focus();
    }, PAUSE);
  };
  b.addEventListener("click", async () => {
    clearTimeout(timer);
    if (b.textContent !== sure()) {
      say(sure());
      timer = setTimeout(say, CALM, label);
      pause();
      return;
    }
    b.disabled = true;
    await act();
    b.disabled = false;
    say(label);
  });
  return b;
}

const chosen = new Map(); // what was chosen last in a menu, by its label

// choice is a menu of stations, given as [name, state]. It begins with what was chosen before, with first, or with
// a station that works.
export function choice(stations, first, label) {
  const list = el("select", { "aria-label": label, on: { change: () => chosen.set(label, list.value) } });
  for (const [name, is] of stations)
    list.append(el("option", { value: name, text: name + (is === "up" ? "" : " (" + stateName(is) + ")") }));
  const named = (wanted) => stations.find(([name]) => name === wanted);
  list.value = (named(chosen.get(label)) || named(first) || stations.find(([, is]) => is === "up") || stations[0])[0];
  return list;
}
