// Polls until the operator has paired this browser, then goes to its screen.

import { byId } from "./dom.js";

async function poll() {
  try {
    const got = await fetch("/pairing", { credentials: "same-origin", cache: "no-store" });
    const { state } = await got.json();
    if (state !== "waiting") {
      location.replace("/");
      return;
    }
    byId("state").textContent = byId("state").dataset.waits;
  } catch (e) {
    byId("state").textContent = byId("state").dataset.lost;
  }
  setTimeout(poll, 2000);
}

setTimeout(poll, 1000);
