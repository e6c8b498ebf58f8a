// A manager changes settings on the page for managers, with the whole daemon behind it.

import { PATIENCE, PHONE, assert, equal, fits, freePort, watch } from "./harness.mjs";
import { Daemon } from "./daemon.mjs";
import http from "node:http";
import { readFileSync } from "node:fs";

// SETTINGS has a comment in each place where a person puts one.
const SETTINGS = `
printers: # two of them
  # by the window
  - name: grill # the hot one
    address: "tcp://127.0.0.1:PORT" # fixed in the router
    mac: "" # none

  - { name: pass, address: "file://PAPER" } # the other
routes: [ { to: [pass] } ] # all
`;

export async function aManagerChangesSettingsAndTheFileKeepsItsComments(server, browser) {
  const told = [];
  const phone = http.createServer((request, answer) => {
    told.push(request.url);
    answer.end("{}");
  });
  await new Promise((done) => phone.listen(0, "127.0.0.1", done));
  const d = await Daemon.open(server.dir, SETTINGS.replace("PORT", await freePort()));
  const file = () => readFileSync(d.config, "utf8");
  const comments = () => file().match(/#.*/g);
  const open = async (page) => {
    await page.goto(d.url + "/");
    await page.getByText("Printers, opening hours, who is told").click();
  };
  // twice taps again if the browser was so slow that the button asks no more.
  const twice = async (page, first, then) => {
    const sure = page.getByRole("button", { name: then, disabled: false });
    do await page.getByRole("button", { name: first }).click();
    while (!(await sure.click({ timeout: 5000 }).then(() => true, () => false)));
  };
  const said = (page, words) => page.locator("#said", { hasText: words }).waitFor({ timeout: PATIENCE });
  try {
    const page = await watch(await (await browser.newContext(PHONE)).newPage());
    const second = await watch(await browser.newPage());
    await open(page);
    await open(second);
    await second.getByLabel("Address of grill").waitFor();
    await page.getByLabel("Address of grill").waitFor();
    await fits(page, "phone-settings");
    const [before, all] = [file(), comments()];
    for (const [address, words] of [
      ["nonsense", /printers\[0\] \(grill\)\.address/],
      ["file:///etc/passwd", "neither on the network nor on USB"],
    ]) {
      await page.getByLabel("Address of grill").fill(address);
      await twice(page, "Change grill", "Yes, print grill at " + address);
      await said(page, words);
      equal(file(), before, "the file after a wrong address");
      page.wrong = []; // the console names the refusal
    }

    const address = "tcp://127.0.0.1:" + (await freePort());
    await page.getByLabel("Address of grill").fill(address);
    await page.getByLabel("Model of grill").selectOption("epson-tm-t88");
    await twice(page, "Change grill", "Yes, print grill at " + address);
    await said(page, "Saved. grill prints at " + address);
    equal(comments(), all, "comments");
    equal(readFileSync(d.config + ".previous", "utf8"), before, "the previous file");
    assert(file().includes(`    address: "${address}" # fixed in the router\n`), file());
    const now = JSON.parse(d.ask("printers", "list", "--json")).find((s) => s.name === "grill");
    assert(JSON.stringify(now).includes(address), "the daemon has not loaded it: " + JSON.stringify(now));
    assert(/action=settings actor="a browser on this computer" printer=grill address=/.test(d.log), d.log);

    // The second browser has the file of before.
    await second.getByLabel("Hours of Harbour Grill").fill("mon-fri 11:30-14:30\nsat 18:00-02:00");
    await twice(second, "Change the hours of Harbour Grill", "Yes, change them");
    await said(second, "The configuration was changed in the meantime, and nothing was saved: look again");
    second.wrong = [];
    equal(await second.getByLabel("Address of grill").inputValue(), address, "what the second browser shows now");
    await second.getByLabel("Hours of Harbour Grill").fill("mon-fri 11:30-14:30\nsat 18:00-02:00");
    await twice(second, "Change the hours of Harbour Grill", "Yes, change them");
    await said(second, "Saved the hours of Harbour Grill");
    assert(file().includes("sat 18:00-02:00"), file());

    await open(page);
    const one = { address: "tcp://127.0.0.2:9100", model: "TM-m30", profile: "epson-tm-m30", mac: "00:26:ab:12:34:56" };
    const foreign = { address: "tcp://127.0.0.3:9100", program: "a web server" };
    await page.route("**/settings/found", (r) => r.fulfill({ json: [one, foreign] }));
    await page.getByRole("button", { name: "Look for printers" }).click();
    await said(page, "1 found");
    await page.getByLabel("Found for grill").selectOption(one.address);
    await twice(page, "Change grill", "Yes, print grill at " + one.address);
    await said(page, "Saved. grill prints at " + one.address);
    for (const text of [one.address, one.profile, `mac: "${one.mac}" # none`]) assert(file().includes(text), file());

    const tell = async (name, url) => {
      await page.getByLabel("Name", { exact: true }).fill(name);
      await page.getByLabel("Address for messages").fill(url);
      await twice(page, "Tell somebody more", "Yes, tell " + name);
    };
    await tell("program", "https://hooks.example/a-secret");
    await said(page, "secret_file: is missing");
    assert(!(await page.textContent("#said")).includes("a-secret"), "the URL is shown");
    page.wrong = [];
    await tell("Ann", `ntfy://127.0.0.1:${phone.address().port}/a-secret?scheme=http`);
    await said(page, "Saved. Ann was sent a test message.");
    assert(told.length, "no test message came");
    await page.getByText("by ntfy").waitFor();
    assert(!(await page.content()).includes("a-secret") && !d.log.includes("a-secret"), "the URL is shown");
    await fits(page, "phone-told");
    await twice(page, "Tell Ann no more", "Yes, tell Ann nothing");
    await said(page, "Ann is told nothing any more");
    assert(!file().includes("a-secret"), file());
    equal(comments(), all, "comments in the end");

  } catch (e) {
    throw new Error(e.stack + "\n" + d.log);
  } finally {
    await d.kill();
    phone.close();
  }
}
