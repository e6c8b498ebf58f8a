// Keys of keyboards and of bump bars, which act as keyboards. The server sends the key of each action.

export class Keys {
  constructor(map, runAction) {
    this.actions = new Map();
    for (const action of Object.keys(map))
      for (const key of map[action] || []) this.actions.set(normalKey(key), action);
    document.addEventListener("keydown", (e) => {
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
  const mods = { ctrl: false, alt: false, shift: false };
  for (;;) {
    const m = /^(ctrl|alt|shift)\+(.+)$/i.exec(key);
    if (!m) break;
    mods[m[1].toLowerCase()] = true;
    key = m[2];
  }
  return (mods.ctrl ? "ctrl+" : "") + (mods.alt ? "alt+" : "") + (mods.shift ? "shift+" : "") + key.toLowerCase();
}
