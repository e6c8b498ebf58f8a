// Two sounds, made here: one for new tickets, another for cancellations, so that a cook knows
// without looking. A browser is silent until somebody has touched the page.

import { kept } from "./dom.js";

// frequency in Hz, from and for how many seconds
const TUNES = {
  new: {
    wave: "triangle",
    notes: [
      [784, 0, 0.14],
      [1047, 0.15, 0.3],
    ],
  },
  void: {
    wave: "square",
    notes: [
      [440, 0, 0.16],
      [294, 0.2, 0.16],
      [440, 0.4, 0.16],
      [294, 0.6, 0.34],
    ],
  },
};

export class Sound {
  constructor() {
    const Context = window.AudioContext || window.webkitAudioContext;
    this.context = null;
    try {
      this.context = Context ? new Context() : null;
    } catch (e) {
      /* no sound card */
    }
    this.lastPlayed = {};
    this.played = []; // for whoever wonders what should have been heard
  }

  get on() {
    return kept.get("sound", "on") === "on";
  }

  // asleep says that somebody has to touch the page first.
  asleep() {
    return this.on && this.context && this.context.state !== "running";
  }

  async wake() {
    try {
      if (this.context && this.context.state !== "running") await this.context.resume();
    } catch (e) {
      /* not yet */
    }
  }

  play(name, anyway) {
    if (!this.on && !anyway) return;
    const t = performance.now();
    if (!anyway && t - (this.lastPlayed[name] || -Infinity) < 1500) return; // ten tickets at once are one sound
    this.lastPlayed[name] = t;
    this.played.push(name);
    if (this.played.length > 20) this.played.shift();
    document.documentElement.dataset.played = name;
    if (!this.context || this.context.state !== "running") return;
    const volume = Number(kept.get("volume", "70")) / 100;
    const start = this.context.currentTime + 0.02;
    for (const [hz, at, length] of TUNES[name].notes) {
      const o = this.context.createOscillator(),
        g = this.context.createGain();
      o.type = TUNES[name].wave;
      o.frequency.value = hz;
      // Soft edges: a speaker clicks at hard ones.
      g.gain.setValueAtTime(0, start + at);
      g.gain.linearRampToValueAtTime(0.5 * volume, start + at + 0.01);
      g.gain.setValueAtTime(0.5 * volume, start + at + length - 0.04);
      g.gain.linearRampToValueAtTime(0, start + at + length);
      o.connect(g);
      g.connect(this.context.destination);
      o.start(start + at);
      o.stop(start + at + length + 0.01);
    }
  }
}
