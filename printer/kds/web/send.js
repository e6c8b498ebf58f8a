// What a cook presses, on its way to the server. The same press is sent until it is answered,
// with the same id: it is done once.

import { random } from "./dom.js";
import { post, request } from "./connection.js";

export class Sender {
  constructor(live, expo) {
    this.live = live;
    this.expo = expo;
    this.pending = new Map(); // by key, the versions that presses on their way are for
  }

  // busy says that a press on an entry is on its way; of one version, if that is given.
  busy(key, version) {
    const of = this.pending.get(key) || [];
    return version === undefined ? of.length > 0 : of.includes(version);
  }

  // send does one thing to an entry. It resolves to the server's result. tell(text) hears that
  // it takes long.
  async send(verb, key, body, tell) {
    const command = { id: random(), page: this.live.page, do: verb, ...body };
    this.pending.set(key, [...(this.pending.get(key) || []), body.version]);
    try {
      for (let n = 0; ; n++) {
        try {
          const got = await request(this.live.base + "/do", post(command), 5000);
          if (got.ok) return await got.json();
          if (got.status < 500 && got.status !== 429) return { outcome: "refused", text: await got.text() };
        } catch (e) {
          /* no answer: again */
        }
        if (n === 2) tell("No answer yet. It is sent again until there is one.");
        await new Promise((done) => setTimeout(done, Math.min(5000, 250 * Math.pow(2, n))));
      }
    } finally {
      const left = this.pending.get(key);
      left.splice(left.indexOf(body.version), 1);
      if (!left.length) this.pending.delete(key);
    }
  }
}

// target names what an entry is to the server.
export function target(entry, expo) {
  return expo ? { order: entry.key, version: entry.version } : { job: entry.thing.job, version: entry.version };
}
