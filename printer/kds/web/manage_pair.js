// Pairs the browser whose code a manager has typed, and ends pairings. What else the page does is in manage.js.

import { byId, tabSetting } from "./dom.js";
import { word } from "./words.js";

function say(text, failed) {
  const e = byId("state");
  e.textContent = text;
  e.className = failed ? "failed" : "";
}

// post loads the page anew after a change, because the list of pairings is drawn by the server.
async function post(path, body, done) {
  say("…");
  try {
    const got = await fetch("/manage/" + path, {
      method: "POST",
      credentials: "same-origin",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify(body),
    });
    if (!got.ok) {
      say((await got.text()).trim(), true);
      return;
    }
    tabSetting.set("managed", done(await got.json()));
    location.reload();
  } catch (e) {
    say(word("manage_no_connection"), true);
  }
}

const form = byId("pair");
if (form) {
  form.addEventListener("submit", (e) => {
    e.preventDefault();
    const station = byId("station");
    const title = station.options[station.selectedIndex].text;
    const body = { code: byId("code").value, station: station.value };
    post("pair", body, (p) => word("manage_paired", { address: p.address, title }));
  });
}
for (const b of document.querySelectorAll("button[data-id]")) {
  b.addEventListener("click", () => {
    // The first tap asks: a screen that loses its pairing in the middle of service is dark.
    if (b.textContent === word("manage_end")) {
      b.textContent = word("manage_really_end");
      setTimeout(() => (b.textContent = word("manage_end")), 5000);
      return;
    }
    post("revoke", { id: b.dataset.id }, (p) => word("manage_unpaired", { address: p.address }));
  });
}

say(tabSetting.get("managed", ""));
tabSetting.set("managed", "");
