"""The judges' page, served on loopback: a few addresses, strict about who asks and what is sent."""

import json
import re
import sqlite3
import sys
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

from antiphon.evaluate.study import BEST, Sheet, Study
from antiphon.show.page import read_part

_PARTS = {
    "/": ("judge.html", "text/html"),
    "/judge.css": ("judge.css", "text/css"),
    "/judge.js": ("judge.js", "text/javascript"),
}
_LARGEST = 65_536  # bytes of a request
_NAME = 100  # characters of a judge's name
_HEADERS = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}


class Refused(Exception):
    """A request that is not answered, and why."""

    def __init__(self, status: HTTPStatus, reason: str) -> None:
        super().__init__(reason)
        self.status = status


class Server(ThreadingHTTPServer):
    """Listens on loopback only: judges elsewhere come through a tunnel of their own."""

    daemon_threads = True

    def __init__(self, study: Study, port: int) -> None:
        super().__init__(("127.0.0.1", port), Handler)
        self.study = study

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that goes away is no news; anything else is a fault of ours, and told."""
        if not isinstance(sys.exception(), ConnectionError | TimeoutError):
            super().handle_error(request, client_address)

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.server_port}/"


class Handler(BaseHTTPRequestHandler):
    """One request; the study decides what a judge may see."""

    server: Server
    timeout = 10  # seconds that a client may take over a request
    server_version, sys_version = "Antiphon", ""

    def do_GET(self) -> None:
        self._answer(self._get)

    def do_POST(self) -> None:
        self._answer(self._post)

    def log_message(self, format: str, *args: Any) -> None:
        """Nothing is logged: names of judges are nobody's business."""

    def _answer(self, work: Any) -> None:
        try:
            self._check_host()
            body, kind = work()
            self._send(HTTPStatus.OK, body, kind)
        except Refused as refused:
            self._send(refused.status, json.dumps({"error": str(refused)}), "application/json")
        except sqlite3.Error as error:
            told = f"The marks could not be kept: {error}."
            self._send(HTTPStatus.INTERNAL_SERVER_ERROR, json.dumps({"error": told}), "application/json")

    def _check_host(self) -> None:
        """A page elsewhere that lets its name point here (DNS rebinding) is told apart by the name it asks for."""
        port = self.server.server_port
        allowed = {f"{host}:{port}" for host in ("127.0.0.1", "localhost")}
        if self.headers.get("Host", "") not in allowed:
            raise Refused(HTTPStatus.MISDIRECTED_REQUEST, "This page is served to this machine only.")
        origin = self.headers.get("Origin")
        if origin is not None and origin.removeprefix("http://") not in allowed:
            raise Refused(HTTPStatus.FORBIDDEN, "Asked by a page from elsewhere.")

    def _get(self) -> tuple[str, str]:
        address = urlsplit(self.path)
        if address.path in _PARTS:
            name, kind = _PARTS[address.path]
            return read_part(name), kind
        if address.path != "/sheet":
            raise Refused(HTTPStatus.NOT_FOUND, "There is nothing here.")
        asked = {key: values[0] for key, values in parse_qs(address.query).items()}
        judge, number = _judge(asked.get("judge")), None
        if "number" in asked:
            number = self._number(int(asked["number"]) if re.fullmatch("[0-9]{1,9}", asked["number"]) else None)
        return json.dumps(self._sheet(judge, self.server.study.sheet(judge, number))), "application/json"

    def _post(self) -> tuple[str, str]:
        if urlsplit(self.path).path != "/marks":
            raise Refused(HTTPStatus.NOT_FOUND, "There is nothing here.")
        # A form of a page elsewhere cannot send this kind without asking first, and is then refused.
        if self.headers.get_content_type() != "application/json":
            raise Refused(HTTPStatus.UNSUPPORTED_MEDIA_TYPE, "Send JSON.")
        length = self.headers.get("Content-Length", "")
        if not re.fullmatch("[0-9]{1,9}", length) or int(length) > _LARGEST:
            raise Refused(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, "Too long.")
        try:
            sent = json.loads(self.rfile.read(int(length)))
        except (ValueError, RecursionError):
            raise Refused(HTTPStatus.BAD_REQUEST, "Not JSON.") from None
        if not isinstance(sent, dict):
            raise Refused(HTTPStatus.BAD_REQUEST, "Not an object.")
        judge, number = _judge(sent.get("judge")), self._number(sent.get("number"))
        self.server.study.save(judge, number, self._marks(sent.get("marks")))
        return json.dumps(self._sheet(judge, self.server.study.sheet(judge))), "application/json"

    def _number(self, sent: Any) -> int:
        if type(sent) is not int or not 0 <= sent < self.server.study.pairs:
            raise Refused(HTTPStatus.BAD_REQUEST, "There is no such pair.")
        return sent

    def _marks(self, sent: Any) -> list[tuple[int, int, int]]:
        systems = len(self.server.study.systems)
        if not isinstance(sent, list) or len(sent) != systems:
            raise Refused(HTTPStatus.BAD_REQUEST, "Mark every answer.")
        return [
            (_mark(mark, "adequacy", BEST), _mark(mark, "fluency", BEST), _mark(mark, "rank", systems)) for mark in sent
        ]

    def _sheet(self, judge: str, sheet: Sheet | None) -> dict[str, Any]:
        state = {"done": self.server.study.done(judge), "pairs": self.server.study.pairs}
        if sheet is None:
            return state | {"sheet": None}
        shown = {"number": sheet.number, "source": sheet.source, "reference": sheet.reference}
        return state | {"sheet": shown | {"answers": sheet.answers, "marks": sheet.marks}}

    def _send(self, status: HTTPStatus, body: str, kind: str) -> None:
        content = body.encode()
        self.send_response(status)
        for name, value in _HEADERS.items():
            self.send_header(name, value)
        self.send_header("Content-Type", f"{kind}; charset=utf-8")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)


def _judge(name: Any) -> str:
    if not isinstance(name, str) or not 1 <= len(name.strip()) <= _NAME or not name.strip().isprintable():
        raise Refused(HTTPStatus.BAD_REQUEST, f"A judge has a name of at most {_NAME} characters.")
    return name.strip()


def _mark(sent: Any, key: str, most: int) -> int:
    value = sent.get(key) if isinstance(sent, dict) else None
    if type(value) is not int or not 1 <= value <= most:
        raise Refused(HTTPStatus.BAD_REQUEST, f"Give every answer a mark for {key}, from 1 to {most}.")
    return value
