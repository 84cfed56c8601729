"""A user's own locustfile: its user classes, and Locust's clients made to tell of each request.

The file is run once, by each worker; the master never sees it.
"""

from __future__ import annotations

import functools
import inspect
import logging
import os
import ssl
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import gevent
import locust.contrib.fasthttp
import requests.exceptions
from gevent import monkey
from locust import FastHttpUser, HttpUser, User, runners
from locust.clients import HttpSession
from locust.runners import WorkerRunner
from locust.user.task import TaskSet
from locust.util.load_locustfile import load_locustfile

from loadtest_injector.arrivals import Pace
from loadtest_injector.client import WINDOW_HEADER
from loadtest_injector.http.session import HttpSession as FastSession
from loadtest_injector.http.user import FastUser
from loadtest_injector.observation import CONTEXT_KEY, Observation
from loadtest_injector.recorder import Identity, Recorder
from loadtest_injector.scenario import Locustfile, ScenarioError
from loadtest_injector.users import Attempt

IMPORT_SECONDS = 60
"""A locustfile that has not been imported after so long never will be."""

_NANOS = 1_000_000_000
log = logging.getLogger(__name__)


def load_users(scenario: Locustfile, give_up: Callable[[str], None]) -> list[type[User]]:
    """The user classes of the locustfile, ready for the scenario's host; ScenarioError where it cannot be used.

    `give_up` is called from another thread, with the reason, where its import does not end: nothing can interrupt it.
    """
    os.chdir(scenario.file.parent)
    done: list[bool] = []
    sleep = monkey.get_original("time", "sleep")

    def watch() -> None:
        end = time.monotonic() + IMPORT_SECONDS
        while time.monotonic() < end:
            sleep(0.1)
            if done:
                return
        give_up(f"{scenario.file.name}: its import did not end within {IMPORT_SECONDS} s")

    monkey.get_original("_thread", "start_new_thread")(watch, ())
    try:
        found, _shapes = load_locustfile(str(scenario.file))
    except SystemExit as error:
        raise ScenarioError(f"{scenario.file.name}: it calls sys.exit({error.code!r}) when it is imported") from error
    except BaseException as error:
        raise ScenarioError(f"{scenario.file.name}: {_where(error, scenario.file)}{_text(error)}") from error
    finally:
        done.append(True)
    classes = [user for user in dict.fromkeys(found.values()) if user.weight or user.fixed_count]
    if not classes:
        raise ScenarioError(f"{scenario.file.name}: it defines no user class (a subclass of User, not abstract)")
    for user in classes:
        if not user.tasks:
            raise ScenarioError(f"{scenario.file.name}: the user class {user.__name__} has no tasks")
        _aim(user, scenario)
    return classes


def is_custom(user: type[User]) -> bool:
    """Whether requests of this class are known only when they have ended."""
    return not issubclass(user, HttpUser | FastHttpUser | FastUser)


class Instruments:
    """Ties Locust's clients and tasks to the attempt that is on. `observation` is that of the latest attempt."""

    def __init__(self, scenario: Locustfile, classes: list[type[User]]) -> None:
        self.observation: Observation | None = None
        self._headers = scenario.headers
        self._ca = str(scenario.ca) if scenario.ca is not None else None
        self._fast = {user: user.request_timeout for user in classes if issubclass(user, FastUser)}

    def install(self) -> None:
        """Take part in every request and in every wait between tasks, for good."""
        self._observe(HttpSession, requests.exceptions.ReadTimeout)
        self._observe(locust.contrib.fasthttp.FastHttpSession, TimeoutError)
        self._observe(FastSession, None)
        instruments = self
        sleep: Any = TaskSet._sleep  # noqa: SLF001 - where every wait between tasks passes

        def _sleep(task_set: Any, seconds: float) -> None:
            observation = instruments.observation
            if observation is None:
                sleep(task_set, seconds)
                return
            observation.asleep(task_set.user)
            due = time.monotonic_ns() + int(seconds * _NANOS)
            sleep(task_set, seconds)
            observation.awake(task_set.user, due)

        TaskSet._sleep = _sleep  # type: ignore[method-assign] # noqa: SLF001

    def begin(self, observation: Observation) -> None:
        """An attempt begins; users start after this."""
        self.observation = observation
        for user, timeout in self._fast.items():
            user.request_timeout = min(timeout, observation.request_timeout_seconds)

    def on_request(self, **event: Any) -> None:
        """The listener of Locust's request event."""
        if self.observation is not None:
            self.observation.on_request(**event)

    def on_task_error(self, user_instance: Any, exception: object, **_more: Any) -> None:  # noqa: ARG002
        """The listener of Locust's user_error event."""
        if self.observation is not None:
            self.observation.on_task_error(exception)

    def _observe(self, client: Any, too_slow: type[Exception] | None) -> None:
        """Wrap the `request` of a client class. `too_slow` makes the error that the client reports as its own."""
        original = client.request
        parameters = list(inspect.signature(original).parameters.values())[3:]
        positional = [p.name for p in parameters if p.kind is p.POSITIONAL_OR_KEYWORD]
        instruments = self

        @functools.wraps(original)
        def request(session: Any, method: Any, url: Any, *arguments: Any, **options: Any) -> Any:
            observation = instruments.observation
            if observation is None:
                return original(session, method, url, *arguments, **options)
            options.update(zip(positional, arguments, strict=False))
            name = options.get("name") or session.request_name or url
            sent = observation.begin(str(method), str(name), session.user)
            options["context"] = {**(options.get("context") or {}), CONTEXT_KEY: sent}
            label = observation.recorder.label(sent.mark)
            options["headers"] = instruments._with_headers(options.get("headers"), label)
            if instruments._ca is not None and client is HttpSession and session.verify is True:
                options.setdefault("verify", instruments._ca)
            limit = observation.request_timeout_seconds
            try:
                if too_slow is None:
                    answer = original(session, method, url, **options)
                else:
                    with gevent.Timeout(limit, too_slow(f"no whole answer within {limit:g} s")):
                        answer = original(session, method, url, **options)
            except BaseException:
                observation.abandon(sent)
                raise
            observation.returned(sent)
            return answer

        client.request = request

    def _with_headers(self, given: Any, label: str) -> dict[str, Any]:
        headers = dict(given or {})
        mine = {name.lower() for name in headers}
        headers |= {name: value for name, value in self._headers.items() if name.lower() not in mine}
        headers[WINDOW_HEADER] = label
        return headers


class ObservedUsers:
    """The users of a locustfile. `give_up` as in `load_users`."""

    def __init__(self, scenario: Locustfile, give_up: Callable[[str], None]) -> None:
        self.classes = load_users(scenario, give_up)
        self._instruments = Instruments(scenario, self.classes)
        self._running: Callable[[], list[User]] = list

    def join(self, runner: WorkerRunner, attempt: Callable[[], Attempt | None]) -> None:  # noqa: ARG002 - of Users
        """Take part in the requests and tasks of all users, in place of Locust's statistics.

        Those keep every name that there is, and send every exception of a task to the master.
        """
        events: Any = runner.environment.events  # untyped in Locust
        for event, listener in (
            (events.request, self._instruments.on_request),
            (events.user_error, self._instruments.on_task_error),
        ):
            for handler in list(event._handlers):  # noqa: SLF001 - there is no other way to tell whose they are
                if handler.__module__ == runners.__name__:
                    event.remove_listener(handler)
            event.add_listener(listener)
        self._instruments.install()
        self._running = lambda: [greenlet.args[0] for greenlet in runner.user_greenlets if greenlet.args]
        events.init.fire(environment=runner.environment, runner=runner, web_ui=None)

    def attempt(self, identity: Identity, request_timeout_seconds: float, pace: Pace | None) -> Attempt:
        """A new attempt. The file paces its users itself: the API has no open load of a locustfile."""
        if pace is not None:
            raise ScenarioError("a locustfile has no open load")
        recorder = Recorder(identity, journeys=False)
        custom = any(is_custom(user) for user in self.classes)
        seen = Observation(recorder, request_timeout_seconds, lambda: self._running(), custom=custom)  # noqa: PLW0108
        self._instruments.begin(seen)
        return Attempt(recorder, request_timeout_seconds, seen)


def _aim(user: type[User], scenario: Locustfile) -> None:
    """Point a user class at the target. What the file says of certificates itself stays."""
    user.host = scenario.host
    if issubclass(user, FastUser):
        user.secure_cookies_over_http = user.secure_cookies_over_http or scenario.send_secure_cookies_over_http
        user.ca = user.ca or scenario.ca
    elif issubclass(user, FastHttpUser) and scenario.ca is not None and user.ssl_context_factory is None:
        context = ssl.create_default_context(cafile=str(scenario.ca))
        user.insecure = False
        user.ssl_context_factory = staticmethod(lambda: context)


def _where(error: BaseException, file: Path) -> str:
    """The line of the locustfile at which its import failed."""
    if isinstance(error, SyntaxError):
        return f"line {error.lineno}: " if error.filename == str(file) else f"{error.filename}, line {error.lineno}: "
    trace, line = error.__traceback__, None
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == str(file):
            line = trace.tb_lineno
        trace = trace.tb_next
    return f"line {line}: " if line is not None else ""


def _text(error: BaseException) -> str:
    text = error.msg if isinstance(error, SyntaxError) else str(error)
    hint = ": bake it into the image that spec.injector.image names" if isinstance(error, ModuleNotFoundError) else ""
    return f"{type(error).__name__}: {text}{hint}"
