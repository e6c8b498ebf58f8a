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
    byId("state").textContent = "Waiting. This page continues by itself. The code changes every ten minutes.";
  } catch (e) {
    byId("state").textContent = "No connection to ticketrail. Trying again.";
  }
  setTimeout(poll, 2000);
}

setTimeout(poll, 1000);
