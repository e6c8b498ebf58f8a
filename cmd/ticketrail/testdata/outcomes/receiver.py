"""A receiver of outcomes, written from the Standard Webhooks specification: it verifies each signature, appends what it
takes to a file, and answers 503 while the file "away" exists."""

import base64, hashlib, hmac, json, os, sys, time
from http.server import BaseHTTPRequestHandler, HTTPServer

folder, port, secret = sys.argv[1], int(sys.argv[2]), base64.b64decode(sys.argv[3].removeprefix("whsec_"))


class Receiver(BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        wid, at = self.headers["webhook-id"], self.headers["webhook-timestamp"]
        want = hmac.new(secret, f"{wid}.{at}.".encode() + body, hashlib.sha256).digest()
        signed = [s.removeprefix("v1,") for s in self.headers["webhook-signature"].split()]
        status = 200
        if base64.b64encode(want).decode() not in signed or abs(time.time() - int(at)) > 300:
            status = 401
        elif os.path.exists(folder + "/away"):
            status = 503
        else:
            with open(folder + "/taken", "a") as f:
                f.write(json.dumps({"id": wid, **json.loads(body)}) + "\n")
        self.send_response(status)
        self.end_headers()

    def log_message(self, *args):
        pass


HTTPServer(("127.0.0.1", port), Receiver).serve_forever()
