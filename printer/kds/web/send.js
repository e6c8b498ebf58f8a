// Sends commands to the server. A command is sent until it is answered, always with the same id, so
// the server does it once.

import { randomID } from "./dom.js";
import { post, request } from "./connection.js";

export class CommandSender {
  constructor(connection, expo) {
    this.connection = connection;
    this.expo = expo;
    this.pending = new Map(); // by key: the versions for which commands are pending
  }

  // isPending reports whether a command for an entry is pending; for one of its versions, if that
  // is given.
  isPending(key, version) {
    const of = this.pending.get(key) || [];
    return version === undefined ? of.length > 0 : of.includes(version);
  }

  // send sends one command for an entry and resolves to the server's result. tell(text) is called
  // if it takes long.
  async send(verb, key, body, tell) {
    const command = { id: randomID(), page: this.connection.page, do: verb, ...body };
    this.pending.set(key, [...(this.pending.get(key) || []), body.version]);
    try {
      for (let n = 0; ; n++) {
        try {
          const got = await request(this.connection.base + "/do", post(command), 5000);
          if (got.ok) return await got.json();
          if (got.status < 500 && got.status !== 429) return { outcome: "refused", text: await got.text() };
        } catch (e) {
          /* no answer: send it again */
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

// target returns the fields by which a command names an entry.
export function target(entry, expo) {
  return expo ? { order: entry.key, version: entry.version } : { job: entry.source.job, version: entry.version };
}
