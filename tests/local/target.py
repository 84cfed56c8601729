"""A target of one's own, as a person would have one: `python target.py PORT`, one log line per request.

It keeps a helper process in a session of its own, which nobody would find by the process group.
"""

from __future__ import annotations

import os
import subprocess
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class Page(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        body = f"threads: {os.environ.get('THREADS', 'none')}".encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
        os.write(1, f"window {self.headers.get('X-LoadTest-Window')} threads {os.environ.get('THREADS')}\n".encode())

    def log_message(self, *_: object) -> None:
        return


if os.environ.get("THREADS") == "broken":
    sys.exit("THREADS must be a number")
subprocess.Popen(["sleep", "600"], start_new_session=True)
ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Page).serve_forever()
