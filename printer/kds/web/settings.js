// The panels of this tablet's settings and of its keys.

import { KINDS } from "./bar.js";
import { el, removeChildren, setting } from "./dom.js";
import { word } from "./words.js";

// group is a labelled part of the settings; choice one in which an option is chosen: [its value, the key of its text].
const group = (key, ...nodes) => el("fieldset", null, el("legend", { text: word(key) }), ...nodes);

function choice(key, name, fallback, options, then) {
  const box = group(key);
  for (const [value, text] of options) {
    const input = el("input", { type: "radio", name, value });
    input.checked = setting.get(name, fallback) === value;
    input.addEventListener("change", () => {
      setting.set(name, value);
      then();
    });
    box.append(el("label", null, input, el("span", { text: word(text) })));
  }
  return box;
}

export function settings(content, app, panels) {
  removeChildren(content);
  const range = { type: "range", min: "10", max: "100", step: "10", value: setting.get("volume", "70") };
  const volume = el("input", { ...range, "aria-label": word("volume") });
  volume.addEventListener("change", () => {
    setting.set("volume", volume.value);
    app.sound.play("new", true);
  });
  const button = (key, click) => el("button", { type: "button", on: { click }, text: word(key) });
  const themes = [["auto", "auto_theme"], ["dark", "dark"], ["light", "light"]];
  const sizes = [["auto", "auto"], ["s", "S"], ["m", "M"], ["l", "L"], ["xl", "XL"]];
  const places = [["panel", "when_asked"], ["strip", "beside"], ["screen", "whole_screen"]];
  content.append(
    choice("colours", "theme", "auto", themes, () => app.applySettings()),
    choice("size", "size", "auto", sizes, () => app.applySettings()),
    choice("all_day", "allday", "panel", places, () => app.applySettings()),
    choice("sound", "sound", "on", [["on", "on"], ["off", "off"]], () => app.updateSoundButton()),
    group("volume", volume),
    group(
      "sound_test",
      ...KINDS.map((kind) =>
        button("sound_" + kind, () => app.sound.unlock().then(() => app.sound.play(kind, true))),
      ),
    ),
    group(
      "this_screen",
      button("full_screen", () =>
        document.fullscreenElement ? document.exitFullscreen() : document.documentElement.requestFullscreen(),
      ),
      button("keys_help", () => panels.show("help")),
      el("p", { text: word("kept_on", { state: word("wake_" + app.wakeLock.state) }) }),
    ),
  );
}

const ACTIONS =
  "bump item ack_void details undo print recall_last recall_list all_day course settings help close " +
  "left right up down page_next page_previous first last";

// keyName is what a keyboard of that language has on a key.
const keyName = (key) => (word("key_" + key) === "key_" + key ? key : word("key_" + key));

export function help(content, app) {
  removeChildren(content);
  const dl = el("dl", { class: "keys" });
  const row = (keys, text) =>
    keys.length &&
    dl.append(el("div", null, el("dt", null, ...keys.map((k) => el("kbd", { text: k }))), el("dd", { text })));
  const map = app.setup.keys;
  row(app.keys.hints.filter(Boolean).slice(0, 20), word("keys_select"));
  for (const action of ACTIONS.split(" "))
    if (action !== "print" || app.setup.print) row((map[action] || []).map(keyName), word("keys_" + action));
  content.append(dl);
}
