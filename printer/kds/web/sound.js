// One sound for each kind of news, so that a cook knows without looking. Browsers play nothing until the
// page was touched once.

import { setting } from "./dom.js";

// notes: frequency in Hz, start and length in seconds
const TUNES = {
  new: { wave: "triangle", notes: [[784, 0, 0.14], [1047, 0.15, 0.3]] },
  void: { wave: "square", notes: [[440, 0, 0.16], [294, 0.2, 0.16], [440, 0.4, 0.16], [294, 0.6, 0.34]] },
  allergy: { wave: "square", notes: [[988, 0, 0.09], [988, 0.14, 0.09], [988, 0.28, 0.09], [988, 0.42, 0.2]] },
  ready: { wave: "triangle", notes: [[523, 0, 0.14], [659, 0.15, 0.14], [784, 0.3, 0.14], [1047, 0.45, 0.35]] },
  late: { wave: "sawtooth", notes: [[349, 0, 0.3], [262, 0.32, 0.45]] },
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
    this.busyUntil = 0; // by the context's clock: sounds follow each other
  }

  get on() {
    return setting.get("sound", "on") === "on";
  }

  // needsTouch reports whether the page must be touched before it can play.
  needsTouch() {
    return this.on && this.context && this.context.state !== "running";
  }

  async unlock() {
    try {
      if (this.context && this.context.state !== "running") await this.context.resume();
    } catch (e) {
      /* not yet */
    }
  }

  play(name, force) {
    if (!this.on && !force) return;
    const t = performance.now();
    if (!force && t - (this.lastPlayed[name] || -Infinity) < 1500) return; // ten tickets at once make one sound
    this.lastPlayed[name] = t;
    document.documentElement.dataset.played = name;
    if (!this.context || this.context.state !== "running") return;
    const volume = Number(setting.get("volume", "70")) / 100;
    const start = Math.max(this.context.currentTime + 0.02, this.busyUntil);
    for (const [hz, at, length] of TUNES[name].notes) {
      this.busyUntil = start + at + length + 0.25;
      const o = this.context.createOscillator(),
        g = this.context.createGain();
      o.type = TUNES[name].wave;
      o.frequency.value = hz;
      // A short fade in and out: a speaker clicks at hard edges.
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
