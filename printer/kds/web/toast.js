// Short messages at the foot of the screen, and the one with which a bump is taken back.

import { byId, el, empty } from "./dom.js";

export class Toasts {
  constructor() {
    this.box = byId("toasts");
  }

  // tell shows a message for a few seconds.
  tell(text, kind) {
    const t = el("div", { class: "toast " + (kind || ""), role: "status" }, el("p", { dir: "auto", text }));
    this.put(t, 6000);
  }

  // undo offers to take something back for as long as left() says there is time.
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
      take: () => {
        offer.end();
        back();
      },
    };
    button.addEventListener("click", offer.take);
    const timer = setInterval(tick, 250);
    this.offer = offer;
    this.box.append(t);
    tick();
  }

  put(t, ms) {
    while (this.box.children.length > 2) this.box.removeChild(this.box.firstChild);
    this.box.append(t);
    setTimeout(() => t.remove(), ms);
  }

  clear() {
    empty(this.box);
  }
}
