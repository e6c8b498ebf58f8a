// Waits until somebody has paired this screen.

import { byId } from "./dom.js";

async function ask() {
  try {
    const got = await fetch("/pairing", { credentials: "same-origin", cache: "no-store" });
    const { state } = await got.json();
    if (state !== "waiting") {
      location.replace("/");
      return;
    }
    byId("state").textContent = "Waiting. This page goes on by itself. The code changes every ten minutes.";
  } catch (e) {
    byId("state").textContent = "No connection to ticketrail. Trying again.";
  }
  setTimeout(ask, 2000);
}

setTimeout(ask, 1000);
