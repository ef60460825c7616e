#!/usr/bin/env python3
"""Offers a stdio MCP server on http://127.0.0.1:PORT/mcp, for the conformance suite.

Usage: bridge.py PORT SERVER [ARGUMENT...]

Each `initialize` starts a server of its own, known by its session id. A request
without a session gets a fresh server, because some servers settle the era of a
connection by its first message. Requests from the server to the client are not passed on.
"""

import http.server
import itertools
import json
import queue
import subprocess
import sys
import threading
import uuid

STATUS = {-32601: 404, -32020: 400, -32021: 400, -32022: 400, -32600: 400, -32602: 400, -32700: 400}
LOCAL = ("127.0.0.1", "localhost", "[::1]")


class Server:
    def __init__(self):
        self.process = subprocess.Popen(sys.argv[2:], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.ids, self.waiting, self.lock = itertools.count(1), {}, threading.Lock()
        threading.Thread(target=self.read, daemon=True).start()

    def read(self):
        for line in self.process.stdout:
            message = json.loads(line)
            key = message.get("id", message.get("params", {}).get("progressToken"))
            if key in self.waiting and ("id" not in message or "method" not in message):
                self.waiting[key].put(message)

    def send(self, message):
        with self.lock:
            self.process.stdin.write(json.dumps(message).encode() + b"\n")
            self.process.stdin.flush()

    def ask(self, message):
        """Yields the progress of a request and at last its response, under the caller's id."""
        answers, own = queue.Queue(), f"bridge-{next(self.ids)}"
        self.waiting[own] = self.waiting[message.get("params", {}).get("_meta", {}).get("progressToken", own)] = answers
        self.send({**message, "id": own})
        while True:
            answer = answers.get(timeout=30)
            yield {**answer, "id": message["id"]} if "id" in answer else answer
            if "id" in answer:
                return


sessions = {}


class Handler(http.server.BaseHTTPRequestHandler):
    def reply(self, status, message=None, session=None):
        body = json.dumps(message).encode() if message else b""
        self.send_response(status)
        for name, value in {"Content-Type": "application/json", "Mcp-Session-Id": session}.items():
            if value:
                self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_POST(self):
        message = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        origin = self.headers.get("Origin", "//localhost").split("//")[1]
        if not all(host.rsplit(":", 1)[0] in LOCAL for host in (self.headers["Host"], origin)):
            return self.reply(403)
        session = self.headers.get("Mcp-Session-Id")
        if message.get("method") == "initialize":
            session = str(uuid.uuid4())
            sessions[session] = Server()
        server = sessions.get(session) if session else Server()
        if server is None:
            return self.reply(404)
        try:
            self.answer(message, server, session)
        finally:
            if not session:
                server.process.stdin.close()

    def answer(self, message, server, session):
        if "id" not in message or "method" not in message:
            server.send(message)
            return self.reply(202)
        answers = server.ask(message)
        first = next(answers)
        if "id" in first:
            modern = self.headers.get("MCP-Protocol-Version", "") >= "2026"
            return self.reply(STATUS.get(first.get("error", {}).get("code"), 200) if modern else 200, first, session)
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.end_headers()
        for answer in itertools.chain([first], answers):
            self.wfile.write(f"event: message\ndata: {json.dumps(answer)}\n\n".encode())

    def do_GET(self):
        self.reply(405)

    def do_DELETE(self):
        server = sessions.pop(self.headers.get("Mcp-Session-Id") or "", None)
        if server:
            server.process.stdin.close()
        self.reply(200 if server else 404)

    def log_message(self, *_):
        pass


http.server.ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()
