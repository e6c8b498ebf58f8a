// Speed with 200 open orders: what an idle page costs, and how soon a ticket is shown on five pages. all.mjs does
// not run it, because its numbers mean something on an idle machine only:
//
//   TICKETRAIL_TEST_ALL=1 go test -count=1 -v -run RealBrowser ./printer/kds -args speed.mjs

import net from "node:net";
import { TestServer, browse, open, order, until } from "./harness.mjs";

const [PAGES, OPEN, TICKETS, IDLE] = [5, 200, 100, 30000];
const pause = (ms) => new Promise((done) => setTimeout(done, ms));

// counted passes connections on to a port and counts the bytes of both directions.
async function counted(port) {
  const to = { bytes: 0 };
  const pass = (from, into) => {
    from.on("data", (b) => {
      to.bytes += b.length;
      into.write(b);
    });
    from.on("close", () => into.destroy());
    from.on("error", () => into.destroy());
  };
  const proxy = net.createServer((client) => {
    const server = net.connect(port, "127.0.0.1");
    pass(client, server);
    pass(server, client);
  });
  await new Promise((done) => proxy.listen(0, "127.0.0.1", done));
  to.url = "http://127.0.0.1:" + proxy.address().port;
  return to;
}

const server = await TestServer.open();
const browser = await browse();
await server.put("hot-line", ...Array.from({ length: OPEN }, (_, i) => order(i + 1)));
const through = await counted(server.port);
await open(browser, server, "hot-line", { base: through.url });
await pause(8000);
through.bytes = 0;
await pause(IDLE);
console.log("an idle page: " + (through.bytes / 1.024 / IDLE).toFixed(2) + " KiB/s, both directions, with headers");

for (let i = 1; i < PAGES; i++) await open(browser, server, "hot-line");
await until("the pages are live", async () => (await server.status("hot-line")).status.live === PAGES);
const took = [];
for (let i = 0; i < TICKETS; i++) {
  const start = performance.now();
  const got = await server.ask("/put", { Station: "hot-line", Print: true, Tickets: [order(OPEN + 1 + i)] });
  if (got.proof !== "shown") throw new Error("a ticket ended as " + JSON.stringify(got));
  took.push(performance.now() - start);
  await pause(150);
}
took.sort((a, b) => a - b);
const at = (share) => took[Math.ceil(share * TICKETS) - 1].toFixed(0);
console.log("shown on " + PAGES + " pages: p50 " + at(0.5) + " ms, p99 " + at(0.99) + " ms");
await browser.close();
await server.kill();
process.exit(0);
