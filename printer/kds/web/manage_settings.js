// The settings that a manager changes: where printers are, opening hours, and who is told. They are read when they are
// opened, and again after each change. A change names the version of the file that was read.

import { byId, el, removeChildren, setText } from "./dom.js";
import { button, say, send, upper } from "./manage_act.js";

let found = []; // printers that answered a search

// change sends a change. The text that was typed stays if it is refused, unless the file is another one by now. The
// lists are renewed before it says so: they would take away the text that is typed next.
async function change(kind, body, done) {
  const { why, answer } = await send("/settings/" + kind, body);
  const notes = why ? [] : answer.notes;
  if (!why || why.includes("look again")) await read();
  say(why ? upper(why) : [done, ...notes.map(upper)].join(" "), why || notes.length);
}

const field = (label, input) => el("label", {}, el("span", { text: label }), input);
const plain = { autocapitalize: "off", autocomplete: "off", spellcheck: "false" };
const text = (value, placeholder) => el("input", { type: "text", value, placeholder, ...plain });
const named = (name) => el("b", {}, el("bdi", { text: name }));

function printer(p, version, profiles) {
  const address = text(p.address);
  const profile = el("select");
  for (const name of profiles) profile.append(el("option", { value: name, text: name }));
  profile.value = p.profile;
  const fields = [field("Address of " + p.name, address), field("Model of " + p.name, profile)];
  const save = button(
    "Change " + p.name,
    () => "Yes, print " + p.name + " at " + address.value,
    () => {
      const at = address.value.trim();
      const one = found.find((f) => f.address === at);
      const body = { version, name: p.name, address: at, profile: profile.value, mac: one && one.mac };
      return change("printer", body, "Saved. " + p.name + " prints at " + address.value + ".");
    },
  );
  const acts = el("div", { class: "acts" }, save);
  const others = found.filter((f) => !f.program && f.address !== p.address);
  if (others.length) {
    const list = el("select", { "aria-label": "Found for " + p.name });
    list.append(el("option", { value: "", text: "Use a printer that was found…" }));
    for (const f of others)
      list.append(el("option", { value: f.address, text: [f.address, f.model, f.state].filter(Boolean).join(" · ") }));
    list.addEventListener("change", () => {
      const one = others.find((f) => f.address === list.value);
      if (!one) return;
      address.value = one.address;
      if (one.profile) profile.value = one.profile;
    });
    acts.append(list);
  }
  return el("li", {}, named(p.name), ...fields, acts);
}

function hours(v, version) {
  const lines = el("textarea", { rows: Math.max(2, v.hours.length + 1), spellcheck: "false" });
  lines.value = v.hours.join("\n");
  const save = button(
    "Change the hours of " + v.name,
    () => "Yes, change them",
    () => {
      const list = lines.value.split("\n").map((line) => line.trim()).filter(Boolean);
      return change("hours", { version, name: v.name, hours: list }, "Saved the hours of " + v.name + ".");
    },
  );
  return el("li", {}, named(v.name), field("Hours of " + v.name, lines), el("div", { class: "acts" }, save));
}

function recipient(r, version) {
  const about = r.about.length ? " about " + r.about.join(", ") : "";
  const end = button(
    "Tell " + r.name + " no more",
    () => "Yes, tell " + r.name + " nothing",
    () => change("untell", { version, name: r.name }, r.name + " is told nothing any more."),
  );
  return el("li", {}, named(r.name), " by " + r.by + about, el("div", { class: "acts" }, end));
}

function newRecipient(version) {
  const name = text("");
  const url = text("", "ntfy://ntfy.sh/TOPIC");
  const add = button(
    "Tell somebody more",
    () => "Yes, tell " + name.value,
    () => {
      const body = { version, name: name.value.trim(), url: url.value.trim() };
      return change("tell", body, "Saved. " + name.value + " was sent a test message.");
    },
  );
  return el("li", {}, field("Name", name), field("Address for messages", url), el("div", { class: "acts" }, add));
}

async function read() {
  const { why, answer } = await send("/settings");
  setText(byId("settingsproblem"), why ? "The settings cannot be changed here now: " + why : "");
  byId("settingslists").hidden = Boolean(why);
  if (why) return;
  const v = answer.version;
  const fill = (id, ...cards) => removeChildren(byId(id)).append(...cards);
  fill("setprinters", ...answer.printers.map((p) => printer(p, v, answer.profiles)));
  fill("sethours", ...answer.venues.map((one) => hours(one, v)));
  fill("settold", ...answer.recipients.map((r) => recipient(r, v)), newRecipient(v));
}

async function find(b) {
  b.disabled = true;
  say("Looking for printers. Nothing prints.");
  const { why, answer } = await send("/settings/found", {});
  b.disabled = false;
  if (!why) found = answer || [];
  await read();
  const count = found.filter((f) => !f.program).length;
  say(why ? upper(why) : count + " found. Choose one at its station.", why);
}

const search = el("button", { type: "button", text: "Look for printers", on: { click: () => find(search) } });
byId("find").append(search);
const details = byId("settings").querySelector("details");
details.addEventListener("toggle", () => details.open && read());
