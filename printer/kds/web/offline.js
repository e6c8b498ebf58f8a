// A service worker: where the server cannot be reached, it answers a load of the page with a small one that
// says so and tries again by itself. Everything else goes to the network as always. Its address has the texts, in the
// page's language.

const texts = new URL(location.href).searchParams;
const text = (key) => texts.get(key).replace(/[&<>"]/g, (c) => "&#" + c.charCodeAt(0) + ";");

const PAGE = `<!doctype html>
<html lang="${text("lang")}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="refresh" content="4">
<title>${text("not_live")}</title>
<style>
body { background: #c1121f; color: #fff; font: 26px/1.4 system-ui, sans-serif; text-align: center; padding: 18vh 5vw; }
h1 { font-size: 60px; margin: 0 0 20px; }
</style>
</head>
<body>
<h1>${text("not_live")}</h1>
<p>${text("unreachable")}</p>
<p>${text("call_for_help")}</p>
</body>
</html>`;

self.addEventListener("install", () => self.skipWaiting());
self.addEventListener("activate", (e) => e.waitUntil(self.clients.claim()));
self.addEventListener("fetch", (e) => {
  if (e.request.mode !== "navigate") return;
  const page = () => new Response(PAGE, { headers: { "Content-Type": "text/html; charset=utf-8" } });
  e.respondWith(fetch(e.request).catch(page));
});
