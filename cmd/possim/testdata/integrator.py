"""A small integrator: it takes print requests and prints them. Standard library only.

    integrator.py DIR HOST:PORT PRINTER:PORT [FAULT]

DIR keeps its orders. Its answers are empty, so that they show nothing about duplicates. FAULT makes
it wrong in one way, for a test that must find it; without one it does what the contract requires.
"""

import http.server
import json
import os
import socket
import sqlite3
import sys
import threading
import time

VENUES = ["6f1c8f5e-52ad-4a0b-9e9b-2f7b7b7f3a11", "0b7e6a52-9d0c-4f5e-8a3b-5f3f6a1e2d22"]
DIR, LISTEN, PRINTER = sys.argv[1:4]
FAULT = "".join(sys.argv[4:])

lock = threading.Lock()  # guards the database and what follows
work = threading.Event()
seen = set()  # keys of this run, for the faults that forget them
database = sqlite3.connect(os.path.join(DIR, "orders.db"), check_same_thread=False)
database.execute("PRAGMA synchronous=FULL")
database.execute(
    "CREATE TABLE IF NOT EXISTS orders (number INTEGER PRIMARY KEY, key TEXT, body TEXT, printed INTEGER DEFAULT 0)"
)
database.execute("CREATE INDEX IF NOT EXISTS keys ON orders (key)")
database.execute("CREATE INDEX IF NOT EXISTS queue ON orders (printed)")
database.commit()


class Refused(Exception):
    """The status of the answer."""


def check_items(items):
    if not isinstance(items, list):
        raise Refused(400)
    for item in items:
        if not isinstance(item, dict):
            raise Refused(400)
        children = item.get("childItems")
        check_items([] if children is None else children)


def read(body):
    """The request in a body."""

    def no_constant(name):
        raise ValueError(name)

    try:
        request = json.loads(body.decode("utf-8"), parse_constant=no_constant)
    except ValueError:
        raise Refused(400)
    if not isinstance(request, dict):
        raise Refused(400)
    records = request.get("records")
    if not isinstance(records, list) or not records:
        raise Refused(400)
    for record in records:
        if not isinstance(record, dict):
            raise Refused(400)
        check_items(record.get("items"))
    if not isinstance(records[0].get("id"), str) or not records[0]["id"]:
        raise Refused(400)
    return request


def key_of(venue, request):
    return venue + " " + request["records"][0]["id"]


def known(key):
    if FAULT == "it forgets over a restart":
        return key in seen
    return database.execute("SELECT 1 FROM orders WHERE key = ?", (key,)).fetchone() is not None


def store(key, request):
    database.execute("INSERT INTO orders (key, body) VALUES (?, ?)", (key, json.dumps(request)))
    database.commit()
    seen.add(key)
    work.set()


def store_late(key, request):
    """After the answer: a kill in between loses the order."""
    time.sleep(0.2)
    with lock:
        store(key, request)


def accept(venue, request):
    key = key_of(venue, request)
    with lock:
        if known(key) or FAULT == "it answers before it stores" and key in seen:
            return
        if FAULT == "it answers before it stores":
            seen.add(key)
            threading.Thread(target=store_late, args=(key, request), daemon=True).start()
        elif FAULT == "it waits for the printer":
            while not print_ticket(request):
                time.sleep(0.1)
            database.execute("INSERT INTO orders (key, body, printed) VALUES (?, '', 1)", (key,))
            database.commit()
        else:
            store(key, request)


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def body(self):
        if self.headers.get("Transfer-Encoding", "").lower() != "chunked":
            return self.rfile.read(int(self.headers.get("Content-Length") or 0))
        parts = []
        while size := int(self.rfile.readline().split(b";")[0], 16):
            parts.append(self.rfile.read(size))
            self.rfile.readline()
        self.rfile.readline()
        return b"".join(parts)

    def answer(self, status):
        self.send_response(status)
        self.send_header("Content-Length", "0")
        self.end_headers()
        self.wfile.flush()

    def do_GET(self):
        self.answer(405)

    def do_POST(self):
        try:
            self.handle_order()
            self.answer(200)
        except Refused as refused:
            self.answer(refused.args[0])

    def handle_order(self):
        body = self.body()
        venue = (self.headers.get("x-svc-venueid") or "").strip().lower()
        if not venue or not (self.headers.get("x-svc-device-id") or "").strip():
            raise Refused(401)
        if venue not in VENUES:
            raise Refused(403)
        accept(venue, read(body))


def lines(items, indent=""):
    for item in items:
        void = "** VOID ** " if item.get("isVoid") else ""
        yield "%s%s%s %s" % (indent, void, item.get("quantity", 1), item.get("name", "?"))
        if item.get("note"):
            yield "%s  ! %s" % (indent, item["note"])
        yield from lines(item.get("childItems") or [], indent + "  ")


def print_ticket(request):
    """True if the printer says that the ticket is on paper."""
    records = request["records"]
    if FAULT == "it drops the second record":
        records = records[:1]
    text = ""
    for record in records:
        text += "\n".join(["#%s %s" % (record.get("checkNumber"), record.get("checkName"))]
                          + list(lines(record["items"]))) + "\n"
    try:
        host, port = PRINTER.split(":")
        with socket.create_connection((host, int(port)), timeout=10) as printer:
            # FS & switches to the printer's Chinese ROM, whose code has every script.
            printer.sendall(b"\x1b@\x1c&" + text.encode("gb18030") + b"\x1dV\x42\x00\x1dr\x01")
            return len(printer.recv(1)) == 1
    except OSError:
        return False


def print_queue():
    while True:
        with lock:
            row = database.execute(
                "SELECT number, body FROM orders WHERE printed = 0 ORDER BY number LIMIT 1").fetchone()
        if row is None:
            work.wait(0.1)
            work.clear()
        elif print_ticket(json.loads(row[1])):
            with lock:
                database.execute("UPDATE orders SET printed = 1 WHERE number = ?", (row[0],))
                database.commit()
        else:
            time.sleep(0.1)


class Server(http.server.ThreadingHTTPServer):
    request_queue_size = 128
    daemon_threads = True


def main():
    host, port = LISTEN.split(":")
    server = Server((host, int(port)), Handler)
    threading.Thread(target=print_queue, daemon=True).start()
    server.serve_forever()


main()
