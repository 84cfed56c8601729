"""The Flask application: launch, status, and the pages of a journey."""

from __future__ import annotations

import hmac
import secrets
import string
import time

from flask import Flask, Response, abort, jsonify, make_response, redirect, render_template, request
from werkzeug.exceptions import HTTPException
from werkzeug.wrappers import Response as AnyResponse

from sample_runner import journey as journeys
from sample_runner.access_log import AccessLog
from sample_runner.pages import Pages
from sample_runner.sessions import Session, SessionBackend, session_backend
from sample_runner.settings import Settings
from sample_runner.storage import Datastore, QuestionnaireState, QuestionnaireStates
from sample_runner.tokens import InvalidTokenError, TokenReader

COOKIE = "session"
ID_LENGTH = 6
MAX_FORM_BYTES = 256 * 1024


def new_id() -> str:
    """An id of a list item, as eq-questionnaire-runner makes them: six letters."""
    return "".join(secrets.choice(string.ascii_letters) for _ in range(ID_LENGTH))


def create_app(settings: Settings) -> Flask:
    """The application; opens no connection before its first request, so that it can be loaded before a fork."""
    store = Datastore(settings)
    return application_of(Runner(settings, session_backend(settings, store), QuestionnaireStates(store)))


def application_of(runner: Runner) -> Flask:
    """The routes of a Runner as a WSGI application with its access log."""
    app = Flask(__name__)
    app.config["MAX_CONTENT_LENGTH"] = MAX_FORM_BYTES
    app.jinja_env.trim_blocks = app.jinja_env.lstrip_blocks = True
    app.url_map.merge_slashes = False
    app.url_map.strict_slashes = False
    app.add_url_rule("/status", view_func=status)
    app.add_url_rule("/session", view_func=runner.launch)
    app.add_url_rule("/questionnaire", view_func=runner.resume, strict_slashes=True)
    app.add_url_rule("/", view_func=runner.page, methods=["GET", "POST"], endpoint="page")
    app.add_url_rule("/<path:_>", view_func=runner.page, methods=["GET", "POST"], endpoint="page")
    app.register_error_handler(HTTPException, _error)
    app.wsgi_app = AccessLog(app.wsgi_app)  # type: ignore[method-assign]
    return app


def status() -> Response:
    """Ready: asks no backend, as a readiness probe should not."""
    return jsonify(status="OK", version="sample")


class Runner:
    """The views that need a session. Each reads and writes the session and the questionnaire state once."""

    def __init__(self, settings: Settings, sessions: SessionBackend, states: QuestionnaireStates) -> None:
        self._journeys = journeys.load(settings.journeys)
        self._pages = {name: Pages(journey) for name, journey in self._journeys.items()}
        self._tokens = TokenReader(settings.keys)
        self._sessions = sessions
        self._states = states
        self._secure_cookie = settings.secure_cookie

    def launch(self) -> AnyResponse:
        """GET /session?token=: a new session, and its cookie."""
        try:
            claims = self._tokens.claims(request.args.get("token", ""))
        except InvalidTokenError as error:
            abort(make_response(f"{error}\n", 401))
        journey = self._journey_of(claims.get("schema_name"))
        if not self._sessions.use_token(claims["jti"], max(1, round(claims["exp"] - time.time()))):
            abort(make_response("the token was used before\n", 401))
        session = Session(
            id=secrets.token_urlsafe(24),
            csrf_token=secrets.token_urlsafe(32),
            journey=journey,
            tx_id=str(claims.get("tx_id", "")),
        )
        self._sessions.save(session)
        self._states.save(session.id, QuestionnaireState())
        response = redirect("/questionnaire")
        response.set_cookie(COOKIE, session.id, secure=self._secure_cookie, httponly=True, samesite="Lax")
        return response

    def resume(self) -> AnyResponse:
        """GET /questionnaire: to the first page, or to where the respondent is by now."""
        session, state = self._load()
        return self._redirect(session, state)

    def page(self, _: str = "") -> AnyResponse:
        """Any request of the journey."""
        session, state = self._load()
        journey = self._journeys[session.journey]
        query = request.query_string.decode("latin-1")
        method = "GET" if request.method == "HEAD" else request.method
        matched = journey.match(method, request.path, query, ids=state.ids, position=state.position)
        if matched is None:
            abort(405 if journey.has_address(request.path, query, ids=state.ids) else 404)
        entry, state.position = matched
        if method == "POST":
            form = request.form.to_dict()
            if not hmac.compare_digest(form.pop("csrf_token", "").encode(), session.csrf_token.encode()):
                abort(make_response("the form's csrf_token is not that of the session\n", 401))
            state.answers[entry.url] = form
        elif entry.redirect_route is None or entry.method == "POST":
            page = self._pages[session.journey].page(entry)
            self._save(session, state)
            answers = state.answers.get(entry.url, {})
            return make_response(
                render_template("page.html", page=page, answers=answers, csrf_token=session.csrf_token)
            )
        return self._redirect(session, state)

    def _journey_of(self, schema_name: object) -> str:
        if isinstance(schema_name, str) and schema_name in self._journeys:
            return schema_name
        if schema_name is None and len(self._journeys) == 1:
            return next(iter(self._journeys))
        known = ", ".join(self._journeys)
        return abort(make_response(f"there is no journey for the token's schema_name; there are: {known}\n", 404))

    def _load(self) -> tuple[Session, QuestionnaireState]:
        session = self._sessions.load(request.cookies.get(COOKIE, "none"))
        if session is None or session.journey not in self._journeys:
            abort(make_response("there is no session: launch one with /session?token=\n", 401))
        return session, self._states.load(session.id)

    def _redirect(self, session: Session, state: QuestionnaireState) -> AnyResponse:
        location = self._journeys[session.journey].location_after(state.position, state.ids, new_id)
        self._save(session, state)
        return redirect(location)

    def _save(self, session: Session, state: QuestionnaireState) -> None:
        self._states.save(session.id, state)
        self._sessions.save(session)


def _error(error: HTTPException) -> AnyResponse:
    if error.response is not None:
        return error.response  # type: ignore[return-value]
    return make_response(f"{error.code} {error.name}\n", error.code or 500)
