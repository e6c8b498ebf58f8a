// A screen in Debian's Firefox, controlled by WebDriver BiDi, which Firefox speaks without a driver.

import { spawn } from "node:child_process";
import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { equal, item, order, until } from "./harness.mjs";

const LIVE = `document.getElementById("live").className === "is" && !document.body.classList.contains("notlive")`;
const HEADS =
  `Array.from(document.querySelectorAll(".column:not(.measure) .card .number"), (e) => e.textContent).join()`;

// A Firefox is one tab of a running Firefox.
class Firefox {
  wrong = []; // errors on its console
  answers = new Map(); // by the number of a command: what takes its answer

  static async open() {
    const f = new Firefox();
    const profile = mkdtempSync(join(tmpdir(), "firefox-"));
    f.process = spawn("firefox-esr", ["--headless", "--profile", profile, "--remote-debugging-port", "0"], {
      stdio: ["ignore", "ignore", "pipe"],
    });
    const url = await new Promise((found, fail) => {
      f.process.on("exit", () => fail(new Error("firefox-esr ended before it listened")));
      createInterface(f.process.stderr).on("line", (line) => {
        const listens = /WebDriver BiDi listening on (ws:\S+)/.exec(line);
        if (listens) found(listens[1]);
      });
    });

    f.socket = new WebSocket(url + "/session");
    f.socket.onmessage = ({ data }) => f.take(JSON.parse(data));
    await new Promise((opened) => (f.socket.onopen = opened));
    await f.call("session.new", { capabilities: {} });
    await f.call("session.subscribe", { events: ["log.entryAdded"] });
    f.tab = (await f.call("browsingContext.getTree", {})).contexts[0].context;
    await f.call("browsingContext.setViewport", { context: f.tab, viewport: { width: 1280, height: 800 } });
    return f;
  }

  take(message) {
    if (message.type === "event" && message.params.level === "error") this.wrong.push(message.params.text);
    if (this.answers.has(message.id)) this.answers.get(message.id)(message);
  }

  async call(method, params) {
    const id = this.answers.size + 1;
    const answer = new Promise((taken) => this.answers.set(id, taken));
    this.socket.send(JSON.stringify({ id, method, params }));
    const { type, error, message, result } = await answer;
    if (type !== "success") throw new Error(method + ": " + error + ": " + message);
    return result;
  }

  // is waits until a JavaScript expression is true.
  async is(what, expression) {
    await until(what, async () => {
      const { result } = await this.call("script.evaluate", {
        expression: "Boolean(" + expression + ")", target: { context: this.tab }, awaitPromise: false,
      });
      return result.value;
    });
  }
}

export async function aScreenWorksInFirefox(server) {
  const firefox = await Firefox.open();
  const isLive = async (what) => {
    await firefox.is(what, LIVE);
    await until("the server knows", async () => (await server.status("hot-line")).status.live === 1);
  };
  const show = async (ticket) => {
    const { proof } = await server.ask("/put", { Station: "hot-line", Print: true, Tickets: [ticket] });
    equal(proof, "shown", "the proof of " + ticket.number);
  };
  try {
    const url = server.url + "/screen/hot-line";
    await firefox.call("browsingContext.navigate", { context: firefox.tab, url, wait: "complete" });
    await isLive("it is live");

    const evil = item("<img src=x onerror=window.hurt=1>", 1, { d: 1, notes: ["sesame allergy"] });
    await show(order(18, item("Burger"), evil));
    await show(order(19));
    await firefox.is("both cards are there", HEADS + ` === "#18,#19"`);
    await firefox.is("text is text", `!window.hurt && ` +
      `document.querySelector(".card").textContent.includes("<img src=x")`);
    await firefox.is("nothing scrolls", `document.documentElement.scrollHeight <= innerHeight`);
    await firefox.is("the first has a button", `((b) => b && !b.click())(` +
      `document.querySelector(".column:not(.measure) button.bump"))`);
    await firefox.is("the first is bumped", HEADS + ` === "#19"`);

    await server.kill();
    await firefox.is("it says that it is not live", `document.body.classList.contains("notlive") && ` +
      `/^NOT LIVE since \\d\\d:\\d\\d$/.test(document.querySelector("#cover .big").textContent)`);
    firefox.wrong = []; // the requests that nobody answered
    await server.start();
    await isLive("it is live again");
    await show(order(20));
    await firefox.is("it is told again", HEADS + ` === "#19,#20"`);
    const { recall } = (await server.status("hot-line")).board;
    equal(recall.map((o) => o.number), ["#18"], "bumped orders");
    equal(firefox.wrong, [], "errors on the console");
  } finally {
    firefox.process.kill();
  }
}
