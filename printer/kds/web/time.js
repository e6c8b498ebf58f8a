// The server's time. The clock of the tablet is never used: it may be an hour off, or be set while
// the page is open.

let serverMs = 0,
  setAt = 0,
  offset = 0;

// setServerTime takes the time of a heartbeat.
export function setServerTime(beat) {
  serverMs = beat.now;
  setAt = performance.now();
  offset = beat.offset;
}

export const now = () => serverMs + (performance.now() - setAt);

// clock is the time of day in the kitchen's zone.
export function clock(ms) {
  const d = new Date(ms + offset * 60000);
  return two(d.getUTCHours()) + ":" + two(d.getUTCMinutes());
}

const two = (n) => String(n).padStart(2, "0");

// age is mm:ss up to 99 minutes, then hours and minutes.
export function age(ms) {
  const s = Math.max(0, Math.floor(ms / 1000));
  if (s >= 6000) return Math.floor(s / 3600) + " h " + two(Math.floor(s / 60) % 60);
  return two(Math.floor(s / 60)) + ":" + two(s % 60);
}
