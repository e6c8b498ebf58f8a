// The server's time. The tablet's own clock is never shown and never asked: it may be an hour
// off, or be set while the page is open.

let serverMs = 0,
  at = 0,
  offset = 0;

// heard takes over what a heartbeat says.
export function heard(beat) {
  serverMs = beat.now;
  at = performance.now();
  offset = beat.offset;
}

export const now = () => serverMs + (performance.now() - at);

// clock is the time of day where the kitchen is.
export function clock(ms) {
  const d = new Date(ms + offset * 60000);
  return two(d.getUTCHours()) + ":" + two(d.getUTCMinutes());
}

const two = (n) => String(n).padStart(2, "0");

// age is mm:ss; minutes go on to 99.
export function age(ms) {
  const s = Math.max(0, Math.floor(ms / 1000));
  if (s >= 6000) return Math.floor(s / 3600) + " h " + two(Math.floor(s / 60) % 60);
  return two(Math.floor(s / 60)) + ":" + two(s % 60);
}
