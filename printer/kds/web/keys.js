// Keys of keyboards and of bump bars, which act as keyboards. The server sends the key of each action.

import { now } from "./time.js";
import { word } from "./words.js";

export class Keys {
  // runAction(action, event) does what a key asks for. It returns false to leave the key to the browser.
  constructor(map, runAction) {
    this.actions = new Map();
    for (const action of Object.keys(map))
      for (const key of map[action] || []) this.actions.set(normalKey(key), action);
    this.hints = this.selectKeys(map);
    document.addEventListener("keydown", (e) => {
      // The browser's own way to load a page again would leave its error page while the server is down.
      if (e.key === "F5" || ((e.ctrlKey || e.metaKey) && e.key.toLowerCase() === "r")) {
        if (!this.actionOf(e)) {
          e.preventDefault();
          return runAction("reload", e);
        }
      }
      if (e.isComposing || e.target.matches("input, select, textarea")) return;
      const action = this.actionOf(e);
      if (!action || e.metaKey) return;
      // A key that is held down moves and turns pages, but never bumps.
      if (e.repeat && !/^(left|right|up|down|page_next|page_previous)$/.test(action)) {
        e.preventDefault();
        return;
      }
      if (runAction(action, e) !== false) e.preventDefault();
    });
  }

  // selectKeys gives every card of a page a key: first the keys of the setup, then letters that do nothing else,
  // then letters with Shift or Alt. It returns the texts for the cards.
  selectKeys(map) {
    const hints = [];
    for (let n = 1; map["select_" + n]; n++) hints.push(map["select_" + n][0] || "");
    for (const [mod, sign] of [["", ""], ["shift+", "⇧"], ["alt+", "⌥"]])
      for (const letter of "bdefgjklmnoqtwxyzacihprsuv") {
        if (this.actions.has(mod + letter)) continue;
        hints.push(sign + letter.toUpperCase());
        this.actions.set(mod + letter, "select_" + hints.length);
      }
    return hints;
  }

  actionOf(e) {
    const name = e.key === " " || e.key === "Spacebar" ? "space" : e.key.toLowerCase();
    const mods = (e.ctrlKey ? "ctrl+" : "") + (e.altKey ? "alt+" : "");
    const shifted = this.actions.get(mods + "shift+" + name);
    if (e.shiftKey && shifted) return shifted;
    // Some keyboards need Shift for ? and 1, so Shift is ignored there. For a letter it makes another key.
    if (e.shiftKey && /^[a-z]$/.test(name)) return undefined;
    return this.actions.get(mods + name);
  }
}

function normalKey(key) {
  const parts = key.toLowerCase().split(/\+(?=.)/); // the key + has a plus sign itself
  const mods = ["ctrl", "alt", "shift"].filter((m) => parts.slice(0, -1).includes(m));
  return [...mods, parts.pop()].join("+");
}

// runAction does what a key asks for. It returns false to leave the key to the browser.
export function runAction(app, action, event) {
  const { board, panels, store } = app;
  if (action === "reload") return app.reload();
  if (action === "close") {
    if (panels.open) return panels.close();
    if (board.opened) return board.open("");
    board.selected = "";
    if (document.activeElement) document.activeElement.blur();
    return board.update();
  }
  if (panels.open) return panels.runAction(action);
  if (document.body.classList.contains("notlive") && !document.body.classList.contains("usable")) return;
  const isButton = event.target.closest && event.target.closest("#bar, #board button:not(.row)");
  if (action === "bump" && isButton) return false;
  const m = /^select_(\d+)$/.exec(action);
  if (m) {
    const placed = board.cardsOn()[Number(m[1]) - 1];
    board.lastItem = null;
    if (document.activeElement) document.activeElement.blur();
    return placed && board.select(placed.key);
  }
  const does = {
    bump: () => bumpSelected(app),
    item: () => (board.selected ? board.nextItem() : bumpSelected(app)),
    undo: () => app.bar.undo(),
    print: () => app.print(store.get(board.selected)),
    ack_void: () => ackSelected(app),
    recall_last: () => recallLast(app),
    recall_list: () => panels.show("recall"),
    details: () => board.selected && panels.show("details"),
    all_day: () => panels.show("allday"),
    course: () => board.courses().length && panels.show("course"),
    settings: () => panels.show("settings"),
    help: () => panels.show("help"),
    left: () => board.move(-1, 0),
    right: () => board.move(1, 0),
    up: () => board.move(0, -1),
    down: () => board.move(0, 1),
    page_next: () => board.hasPage(board.page + 1) && board.goTo(board.page + 1),
    page_previous: () => board.hasPage(board.page - 1) && board.goTo(board.page - 1),
    first: () => board.goToEnd(true),
    last: () => board.goToEnd(false),
  }[action];
  does();
}

function bumpSelected(app) {
  const { board } = app;
  const order = app.store.get(board.selected);
  if (board.isList && order) return board.open(order.key);
  if (order && order.state === "open") return app.press(order);
  // With nothing selected, the first press only selects the oldest: it must not bump unseen.
  const first = board.cardsOn()[0];
  if (first) board.select(first.key);
}

// ackSelected acknowledges a void or an allergy.
function ackSelected(app) {
  const order = app.store.get(app.board.selected);
  if (order && (order.must_ack_void || order.must_ack_alarm)) app.press(order);
}

function recallLast(app) {
  const last = app.store.recall(now())[0];
  return last ? app.send("recall", last) : app.bar.say(word("no_recall"));
}
