// Keeps the screen from going dark, where the browser lets a page do that: over HTTPS, or on the
// machine itself. Elsewhere the tablet's own setting has to.

export class Awake {
  constructor() {
    this.state = isSecureContext ? "not available in this browser" : "needs HTTPS: set the tablet itself to stay on";
    this.ask();
    document.addEventListener("visibilitychange", () => this.ask());
  }

  async ask() {
    if (document.hidden || !navigator.wakeLock) return;
    try {
      const lock = await navigator.wakeLock.request("screen");
      this.state = "on";
      lock.addEventListener("release", () => {
        this.state = "off";
      });
    } catch (e) {
      this.state = "refused by the browser";
    }
  }
}
