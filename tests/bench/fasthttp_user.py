"""Locust's FastHttpUser in one process, with Locust's own statistics. Arguments: URL PATH PAIR USERS SECONDS."""

import json
import re
import sys
import time

import gevent
from locust import FastHttpUser, task
from locust.env import Environment

WARM_UP_SECONDS = 1.0
LAST_REQUEST_SECONDS = 20
TOKEN = re.compile(rb'name="csrf_token"[^>]*value="([^"]+)"')
FOUND = 302


class Page(FastHttpUser):
    """Fetches one page again and again."""

    abstract = True
    path = "/"

    @task
    def page(self) -> None:
        self.client.get(self.path)


class Pair(FastHttpUser):
    """Fetches a page and sends its form with the token and the cookie that it gave."""

    abstract = True
    path = "/"

    @task
    def pair(self) -> None:
        page = self.client.get(self.path)
        found = TOKEN.search(page.content or b"")
        if found is None:
            raise ValueError("the page has no csrf_token")
        form = {
            "csrf_token": found[1].decode(),
            "first-name": "Joe",
            "middle-names": "",
            "last-name": "Bloggs",
        }
        headers = {"Referer": f"{self.host}{self.path}"}
        with self.client.post(
            self.path, data=form, headers=headers, allow_redirects=False, catch_response=True
        ) as answer:
            if answer.status_code != FOUND:
                answer.failure(f"expected {FOUND}, got {answer.status_code}")


def main(url: str, path: str, pair: str, users: str, seconds: str) -> None:
    """Run the users, print the count of a window and of the whole as JSON."""
    base = Pair if pair == "1" else Page
    user = type("BenchUser", (base,), {"path": path, "abstract": False})
    environment = Environment(user_classes=[user], host=url, stop_timeout=LAST_REQUEST_SECONDS)
    runner = environment.create_local_runner()
    runner.start(int(users), spawn_rate=int(users))
    while runner.user_count < int(users):
        gevent.sleep(0.05)
    gevent.sleep(WARM_UP_SECONDS)
    total = environment.stats.total  # the start made it anew
    before, began = total.num_requests, time.monotonic()
    gevent.sleep(float(seconds))
    requests, micros = total.num_requests - before, (time.monotonic() - began) * 1e6
    runner.stop()
    failures = total.num_failures + len(runner.exceptions)
    said = {"requests": requests, "micros": micros, "failures": failures, "total": total.num_requests}
    sys.stdout.write(json.dumps(said) + "\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
