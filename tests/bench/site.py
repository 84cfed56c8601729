"""The server that every tool loads: nginx with one worker on a core of its own, static pages, a form that redirects."""

import os
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from socket import create_connection, socket

from tests.bench.programs import SERVER_CORE, BenchError, cpu_seconds, running, wait_until
from tests.cluster.packages import path_of
from tests.cluster.pki import Authority

PAGE_BYTES = {"tiny": 64, "page": 10_000, "page25k": 25_000}
COOKIE = "session=" + "Yg1mZ2x3" * 12
TOKEN = "IjVhNzQ1YzQ4ZGQ5NmI0.X9c0Zg.bench-token"  # noqa: S105 - what every page holds; opens nothing
_FLUSHED_SECONDS = 0.25
_FORM = f"""<form class="question" method="post" novalidate>
<input id="csrf_token" name="csrf_token" type="hidden" value="{TOKEN}">
<input name="first-name"><input name="middle-names"><input name="last-name">
<button type="submit">Save and continue</button></form>
"""

# A POST without the cookie that the page sets is refused, so that no tool can leave its cookies out.
_CONFIG = """
daemon off;
worker_processes 1;
worker_rlimit_nofile 40000;
pid {folder}/nginx.pid;
error_log {folder}/error.log warn;
{user}
events {{ worker_connections 16384; multi_accept on; }}
http {{
    default_type text/html;
    log_format bench "$status $request_method $http_x_loadtest_window";
    access_log {folder}/access.log bench buffer=256k flush=100ms;
    client_body_temp_path {folder}/body;
    proxy_temp_path {folder}/proxy;
    fastcgi_temp_path {folder}/fastcgi;
    uwsgi_temp_path {folder}/uwsgi;
    scgi_temp_path {folder}/scgi;
    keepalive_timeout 600s;
    keepalive_requests 1000000000;
    tcp_nodelay on;
    sendfile on;
    open_file_cache max=100;
    server_tokens off;
    absolute_redirect off;
    map "$request_method $cookie_session" $answer {{
        "~^POST .+" moved;
        "~^POST " refused;
        default page;
    }}
    server {{
        listen 127.0.0.1:{port} backlog=16384;
        listen 127.0.0.1:{tls_port} ssl backlog=16384;
        ssl_certificate {certificate};
        ssl_certificate_key {key};
        ssl_session_cache shared:bench:10m;
        root {folder}/pages;
        location = /tiny {{ try_files /tiny.html =404; }}
        location = /page25k {{ try_files /page25k.html =404; }}
        location = /page {{
            if ($answer = moved) {{ return 302 /page; }}
            if ($answer = refused) {{ return 403; }}
            add_header Set-Cookie "{cookie}; Path=/; HttpOnly";
            add_header Vary Cookie;
            try_files /page.html =404;
        }}
    }}
}}
"""


@dataclass(frozen=True)
class Site:
    """The running server."""

    folder: Path
    port: int
    tls_port: int
    pid: int

    @property
    def ca(self) -> Path:
        """The certificate that the server's is signed by."""
        return self.folder / "pki" / "ca.crt"

    def url(self, *, tls: bool) -> str:
        """Scheme, address and port."""
        return f"https://127.0.0.1:{self.tls_port}" if tls else f"http://127.0.0.1:{self.port}"

    def forget(self) -> None:
        """Begins a new count."""
        self._wait_for_log()
        (self.folder / "access.log").write_bytes(b"")  # nginx appends: it goes on at the start

    def answers(self) -> Counter[tuple[int, str, str]]:
        """Answers since `forget`, by status, method and value of X-LoadTest-Window (- without one)."""
        self._wait_for_log()
        lines: Counter[str] = Counter((self.folder / "access.log").read_text().splitlines())
        answers: Counter[tuple[int, str, str]] = Counter()
        for line, count in lines.items():
            status, method, window = line.split(" ", 2)
            answers[int(status), method, window] += count
        return answers

    def cpu_seconds(self) -> float:
        """CPU time of the server so far."""
        return cpu_seconds(self.pid)

    def _wait_for_log(self) -> None:
        """nginx writes its log at most 100 ms late: it is whole when it has not grown for longer."""
        log = self.folder / "access.log"
        size = -1
        for _ in range(40):
            before, size = size, log.stat().st_size
            if size == before:
                return
            time.sleep(_FLUSHED_SECONDS)
        raise BenchError("the server still answers requests although no load should run")


@contextmanager
def serving(folder: Path) -> Iterator[Site]:
    """Runs the server on two free loopback ports; its files go into `folder`."""
    pages = folder / "pages"
    pages.mkdir(parents=True)
    folder.chmod(0o755)
    for name, size in PAGE_BYTES.items():
        (pages / f"{name}.html").write_bytes(page(size))
    authority = Authority(folder / "pki").create()
    pair = authority.issue("bench", addresses=["IP:127.0.0.1"])
    port, tls_port = free_ports(2)
    config = _CONFIG.format(
        folder=folder,
        port=port,
        tls_port=tls_port,
        certificate=pair.certificate,
        key=pair.key,
        cookie=COOKIE,
        user="user root;" if _is_root() else "",
    )
    (folder / "nginx.conf").write_text(config)
    nginx = Path("/usr/sbin/nginx") if Path("/usr/sbin/nginx").exists() else path_of("nginx")
    command = [str(nginx), "-p", str(folder), "-c", str(folder / "nginx.conf"), "-e", str(folder / "error.log")]
    with running(SERVER_CORE, command, folder / "nginx.log") as pid:
        wait_until(lambda: _listens(port), 10, "nginx listens")
        yield Site(folder, port, tls_port, pid)


def page(size: int) -> bytes:
    """A page of exactly `size` bytes with the form in its middle, where a page of a questionnaire has it."""
    form = _FORM if size > len(_FORM) + 1_000 else ""
    head = "<!doctype html><title>Bench</title>\n"
    line = '<p class="guidance">Include everybody who usually lives here, wherever they are tonight.</p>\n'
    before = head + line * ((size - len(form) - len(head)) // 2 // len(line))
    text = before + form
    text += (line * (size // len(line) + 1))[: size - len(text)]
    return text.encode("ascii")


def free_ports(count: int) -> list[int]:
    """Loopback ports that nothing listens on."""
    probes = [socket() for _ in range(count)]
    try:
        for probe in probes:
            probe.bind(("127.0.0.1", 0))
        return [int(probe.getsockname()[1]) for probe in probes]
    finally:
        for probe in probes:
            probe.close()


def _is_root() -> bool:
    """Whether nginx is started by root and would else give its worker to another user, who cannot read the pages."""
    return os.geteuid() == 0


def _listens(port: int) -> bool:
    try:
        create_connection(("127.0.0.1", port), 1).close()
    except OSError:
        return False
    return True
