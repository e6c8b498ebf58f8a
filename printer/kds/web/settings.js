// The panels of this tablet's settings and of its keys.

import { el, removeChildren, setting } from "./dom.js";

function choice(title, name, fallback, options, then) {
  const box = el("fieldset", null, el("legend", { text: title }));
  for (const [value, text] of options) {
    const input = el("input", { type: "radio", name, value });
    input.checked = setting.get(name, fallback) === value;
    input.addEventListener("change", () => {
      setting.set(name, value);
      then();
    });
    box.append(el("label", null, input, el("span", { text })));
  }
  return box;
}

export function settings(content, app, panels) {
  removeChildren(content);
  const range = { type: "range", min: "10", max: "100", step: "10", value: setting.get("volume", "70") };
  const volume = el("input", { ...range, "aria-label": "Volume" });
  volume.addEventListener("change", () => {
    setting.set("volume", volume.value);
    app.sound.play("new", true);
  });
  const button = (text, click) => el("button", { type: "button", on: { click }, text });
  const themes = [["auto", "As the tablet"], ["dark", "Dark"], ["light", "Light"]];
  const sizes = [["auto", "Auto"], ["s", "S"], ["m", "M"], ["l", "L"], ["xl", "XL"]];
  const places = [["panel", "When asked for"], ["strip", "Beside the board"], ["screen", "Whole screen"]];
  content.append(
    choice("Colours", "theme", "auto", themes, () => app.applySettings()),
    choice("Size", "size", "auto", sizes, () => app.applySettings()),
    choice("All-day", "allday", "panel", places, () => app.applySettings()),
    choice("Sound", "sound", "on", [["on", "On"], ["off", "Off"]], () => app.updateSoundButton()),
    el("fieldset", null, el("legend", { text: "Volume" }), volume),
    el(
      "fieldset",
      null,
      el("legend", { text: "Test" }),
      ...["New", "Void", "Allergy", "Ready", "Late"].map((name) =>
        button(name, () => app.sound.unlock().then(() => app.sound.play(name.toLowerCase(), true))),
      ),
    ),
    el(
      "fieldset",
      null,
      el("legend", { text: "This screen" }),
      button("Full screen", () =>
        document.fullscreenElement ? document.exitFullscreen() : document.documentElement.requestFullscreen(),
      ),
      button("Keys", () => panels.show("help")),
      el("p", { text: "Display kept on: " + app.wakeLock.state }),
    ),
  );
}

const NAMES = {
  bump: "Bump the selected order",
  item: "Next item; Enter marks it done",
  ack_void: "Acknowledge a VOID or an ALLERGY",
  details: "Details of the selected order",
  undo: "Undo",
  print: "Print on paper",
  recall_last: "Recall the last order",
  recall_list: "Recall list",
  all_day: "All-day counts",
  course: "Show one course",
  settings: "Settings",
  help: "Keys",
  close: "Close",
  left: "Left",
  right: "Right",
  up: "Up",
  down: "Down",
  page_next: "Next page",
  page_previous: "Previous page",
  first: "First order",
  last: "Last order",
};

export function help(content, app) {
  removeChildren(content);
  const dl = el("dl", { class: "keys" });
  const row = (keys, text) =>
    keys.length &&
    dl.append(el("div", null, el("dt", null, ...keys.map((k) => el("kbd", { text: k }))), el("dd", { text })));
  const map = app.setup.keys;
  row(app.keys.hints.filter(Boolean).slice(0, 20), "Select the order that has this key");
  for (const action of Object.keys(NAMES))
    if (action !== "print" || app.setup.print) row(map[action] || [], NAMES[action]);
  content.append(dl);
}
