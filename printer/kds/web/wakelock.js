// Keeps the display on, where the browser allows a page to do that: over HTTPS, or on the computer
// itself. Elsewhere the tablet's own setting must do it.

export class WakeLock {
  constructor() {
    this.state = isSecureContext ? "missing" : "insecure"; // the settings have a text for each
    this.request();
    document.addEventListener("visibilitychange", () => this.request());
  }

  async request() {
    if (document.hidden || !navigator.wakeLock) return;
    try {
      const lock = await navigator.wakeLock.request("screen");
      this.state = "on";
      lock.addEventListener("release", () => {
        this.state = "off";
      });
    } catch (e) {
      this.state = "refused";
    }
  }
}
