// The settings that a manager changes: where printers are, opening hours, and who is told. They are read when they are
// opened, and again after each change. A change names the version of the file that was read.

import { byId, el, removeChildren, setText } from "./dom.js";
import { button, say, send, upper } from "./manage_act.js";
import { word } from "./words.js";

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
  for (const model of profiles) profile.append(el("option", { value: model, text: model }));
  profile.value = p.profile;
  const { name } = p;
  const fields = [
    field(word("manage_address_of", { name }), address),
    field(word("manage_model_of", { name }), profile),
  ];
  const save = button(
    word("manage_change", { name }),
    () => word("manage_sure_print_at", { name, address: address.value }),
    () => {
      const at = address.value.trim();
      const one = found.find((f) => f.address === at);
      const body = { version, name, address: at, profile: profile.value, mac: one && one.mac };
      return change("printer", body, word("manage_saved_printer", { name, address: address.value }));
    },
  );
  const acts = el("div", { class: "acts" }, save);
  const others = found.filter((f) => !f.program && f.address !== p.address);
  if (others.length) {
    const list = el("select", { "aria-label": word("manage_found_for", { name }) });
    list.append(el("option", { value: "", text: word("manage_use_found") }));
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
  return el("li", {}, named(name), ...fields, acts);
}

function hours(v, version) {
  const { name } = v;
  const lines = el("textarea", { rows: Math.max(2, v.hours.length + 1), spellcheck: "false" });
  lines.value = v.hours.join("\n");
  const save = button(
    word("manage_change_hours", { name }),
    () => word("manage_sure_change"),
    () => {
      const list = lines.value.split("\n").map((line) => line.trim()).filter(Boolean);
      return change("hours", { version, name, hours: list }, word("manage_saved_hours", { name }));
    },
  );
  return el("li", {}, named(name), field(word("manage_hours_of", { name }), lines), el("div", { class: "acts" }, save));
}

function recipient(r, version) {
  const { name, by } = r;
  const about = r.about.join(", ");
  const end = button(
    word("manage_untell", { name }),
    () => word("manage_sure_untell", { name }),
    () => change("untell", { version, name }, word("manage_untold", { name })),
  );
  const told = about ? word("manage_told_about", { by, about }) : word("manage_told_by", { by });
  return el("li", {}, named(name), " " + told, el("div", { class: "acts" }, end));
}

function newRecipient(version) {
  const name = text("");
  const url = text("", "ntfy://ntfy.sh/TOPIC");
  const add = button(
    word("manage_tell"),
    () => word("manage_sure_tell", { name: name.value }),
    () => {
      const body = { version, name: name.value.trim(), url: url.value.trim() };
      return change("tell", body, word("manage_saved_told", { name: name.value }));
    },
  );
  const fields = [field(word("manage_name"), name), field(word("manage_message_address"), url)];
  return el("li", {}, ...fields, el("div", { class: "acts" }, add));
}

async function read() {
  const { why, answer } = await send("/settings");
  setText(byId("settingsproblem"), why ? word("manage_settings_closed", { why }) : "");
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
  say(word("manage_looking"));
  const { why, answer } = await send("/settings/found", {});
  b.disabled = false;
  if (!why) found = answer || [];
  await read();
  const n = found.filter((f) => !f.program).length;
  say(why ? upper(why) : word("manage_found", { n }), why);
}

const search = el("button", { type: "button", text: word("manage_look"), on: { click: () => find(search) } });
byId("find").append(search);
const details = byId("settings").querySelector("details");
details.addEventListener("toggle", () => details.open && read());
