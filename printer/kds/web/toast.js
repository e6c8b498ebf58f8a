// Short messages at the bottom of the screen, and the one with the Undo button.

import { byId, el, removeChildren } from "./dom.js";

export class Toasts {
  constructor() {
    this.box = byId("toasts");
  }

  // show shows a message for a few seconds.
  show(text, kind) {
    const t = el("div", { class: "toast " + (kind || ""), role: "status" }, el("p", { dir: "auto", text }));
    this.add(t, 6000);
  }

  // undo offers to undo something. left() returns how many milliseconds that is still possible.
  // There is one offer at a time, because a key undoes the latest.
  undo(text, left, back) {
    if (this.offer) this.offer.end();
    const seconds = el("span", { class: "left" });
    const button = el("button", { type: "button", class: "undo" }, "Undo ", seconds);
    const t = el("div", { class: "toast", role: "status" }, el("p", { dir: "auto", text }), button);
    const tick = () => {
      const s = Math.ceil(left() / 1000);
      seconds.textContent = s > 0 ? s + " s" : "";
      if (s <= 0) offer.end();
    };
    const offer = {
      end: () => {
        clearInterval(timer);
        t.remove();
        if (this.offer === offer) this.offer = null;
      },
      undo: () => {
        offer.end();
        back();
      },
    };
    button.addEventListener("click", offer.undo);
    const timer = setInterval(tick, 250);
    this.offer = offer;
    this.box.append(t);
    tick();
  }

  add(t, ms) {
    while (this.box.children.length > 2) this.box.removeChild(this.box.firstChild);
    this.box.append(t);
    setTimeout(() => t.remove(), ms);
  }

  clear() {
    removeChildren(this.box);
  }
}
