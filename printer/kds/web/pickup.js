// The pickup board: the numbers of the orders that guests wait for. It only listens.

import { byId, el, removeChildren } from "./dom.js";
import { WakeLock } from "./wakelock.js";

const { tag, beat } = document.body.dataset;
const MOST = 240; // characters of a list, with two for the space around each number; more cannot be read
let lastSignAt = performance.now();
let stream;

// show draws one list, as large as it fits.
function show(id, called) {
  const list = removeChildren(byId(id));
  let size = 0;
  const shown = called.filter((text) => (size += text.length + 2) <= MOST);
  list.className = size <= 40 ? "large" : size <= 110 ? "middle" : "small";
  for (const text of shown) list.append(el("li", { text, dir: "auto" }));
  if (shown.length < called.length) list.append(el("li", { text: "+" + (called.length - shown.length) }));
}

function open() {
  if (stream) stream.close();
  stream = new EventSource("pickup/events");
  const listen = (kind, f) =>
    stream.addEventListener(kind, (e) => {
      lastSignAt = performance.now();
      f(JSON.parse(e.data));
    });
  listen("hello", (hello) => hello.setup !== tag && location.reload());
  listen("beat", () => {});
  listen("pickup", (board) => {
    show("preparing", board.preparing);
    show("ready", board.ready);
  });
}

// A page in the background closes its stream: a browser has six connections to a server, and other pages need them.
function shownOrHidden() {
  if (!document.hidden) open();
  else if (stream) stream.close();
}

// A connection can stay open although the network is gone, so silence is the only proof. A stream that was refused
// does not come back by itself: perhaps the browser is not paired any more, which the page itself says.
setInterval(() => {
  if (document.hidden) return;
  const silent = performance.now() - lastSignAt;
  byId("cover").hidden = silent < 2.5 * beat;
  if (stream.readyState === 2 && silent > 2 * beat)
    fetch(location.href).then((r) => (r.redirected ? location.reload() : open()), open);
}, 1000);
document.addEventListener("visibilitychange", shownOrHidden);
shownOrHidden();
new WakeLock();
