"""The server answers its own page alone, in bounded size, and says what to install without it."""

import asyncio
import json
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.pages import called
from valid_ref.play.commands import first_session
from valid_ref.play.page import MOST_BYTES
from valid_ref.play.server import HEADERS, HOST, Site, application, reply
from valid_ref.trace import load_specification

SITE = Site(port=8000, token="t" * 32, first=first_session(), specification=load_specification())
OWN = {"host": f"{HOST}:8000", "origin": f"http://{HOST}:8000", "content-type": "application/json"}


def request(
    path: str, method: str = "GET", headers: dict[str, str] = OWN, body: bytes = b""
) -> tuple[int, dict[str, str], bytes]:
    """What the application answers, without a network."""
    pytest.importorskip("starlette", reason="the extra serve is not installed")
    scope = {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "method": method,
        "path": path,
        "raw_path": path.encode(),
        "query_string": b"",
        "root_path": "",
        "scheme": "http",
        "headers": [(name.encode(), value.encode()) for name, value in headers.items()],
        "client": (HOST, 1),
        "server": (HOST, 8000),
    }
    parts = [body[at : at + 65536] for at in range(0, len(body), 65536)] or [b""]
    sent: list[dict] = []

    async def receive() -> dict:
        return {"type": "http.request", "body": parts.pop(0), "more_body": bool(parts)}

    async def send(message: dict) -> None:
        sent.append(message)

    async def answered() -> None:
        await application(SITE)(scope, receive, send)

    with ThreadPoolExecutor(1) as elsewhere:  # a browser of other tests has a loop in this thread
        elsewhere.submit(asyncio.run, answered()).result()
    found = {name.decode(): value.decode() for name, value in sent[0]["headers"]}
    return sent[0]["status"], found, b"".join(one.get("body", b"") for one in sent[1:])


COMMAND = f"/{SITE.token}/command"


def test_the_page_and_its_files_come_with_a_strict_policy() -> None:
    for name, kind in (("", "text/html"), ("style.css", "text/css"), ("play.js", "text/java")):
        status, headers, content = request(f"/{SITE.token}/{name}")
        assert status == 200
        assert headers["content-type"].startswith(kind)
        assert "default-src 'none'" in headers["content-security-policy"]
        assert headers["x-content-type-options"] == "nosniff"
        assert content
    assert "access-control-allow-origin" not in headers


@pytest.mark.parametrize(
    ("path", "method", "changes", "status"),
    [
        ("/", "GET", {}, 404),
        (f"/{'u' * 32}/", "GET", {}, 404),
        (f"/{SITE.token}/../play.js", "GET", {}, 404),
        (f"/{SITE.token}/", "GET", {"host": "evil.example:8000"}, 421),
        (f"/{SITE.token}/", "GET", {"host": f"{HOST}:80"}, 421),
        (COMMAND, "GET", {}, 404),
        (COMMAND, "POST", {"host": "evil.example:8000"}, 421),
        (f"/{'u' * 32}/command", "POST", {}, 404),
        (COMMAND, "POST", {"origin": "http://evil.example"}, 403),
        (COMMAND, "POST", {"origin": "null"}, 403),
        (COMMAND, "POST", {"origin": f"http://{HOST}:80"}, 403),
        (COMMAND, "POST", {"origin": ""}, 403),
        (COMMAND, "POST", {"content-type": "text/plain"}, 415),
        (f"/{SITE.token}/style.css", "POST", {}, 405),
        (f"/{SITE.token}/style.css", "POST", {"host": "evil.example:8000"}, 421),
        (f"/{SITE.token}", "GET", {}, 307),
        (f"/{SITE.token}", "GET", {"host": "evil.example:8000"}, 421),
        (f"/{'u' * 32}", "GET", {}, 404),
        ("", "GET", {"host": "evil.example:8000"}, 421),
    ],
)
def test_everybody_else_is_refused(path, method, changes, status) -> None:
    found, headers, _content = request(path, method, OWN | changes)
    assert found == status
    assert {name.lower(): value for name, value in HEADERS.items()}.items() <= headers.items()


def test_a_request_without_origin_or_with_too_large_a_body_is_refused() -> None:
    without = {name: value for name, value in OWN.items() if name != "origin"}
    assert request(COMMAND, "POST", without)[0] == 403
    assert request(COMMAND, "POST", body=b"x" * (MOST_BYTES + 1))[0] == 413


def test_commands_are_answered() -> None:
    status, headers, content = request(COMMAND, "POST")
    assert (status, headers["content-type"]) == (200, "application/json")
    found = json.loads(content)
    assert found["view"]["played"] == 0
    body = json.dumps({"session": found["session"], "command": {"kind": "step", "filled": None}})
    assert json.loads(request(COMMAND, "POST", body=body.encode())[2])["view"]["played"] == 1
    for wrong in (b"\xff", b"{", b"[]"):
        assert set(json.loads(reply(SITE, wrong))) == {"refused"}


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--open", "x.json"), "go with --serve"),
        (("--port", "80"), "go with --serve"),
        (("--serve", "--max-agents", "3"), "takes no --max-agents"),
        (("--serve", "--quiet"), "takes no --quiet"),
        (("--serve", "--open", "missing.json"), "cannot read missing.json"),
        (("--serve", "--open", __file__), "not JSON"),
    ],
)
def test_the_command_refuses_what_does_not_go_together(words, said, capsys, tmp_path) -> None:
    status, _output, error = called(("valid-ref", "explore", *words))
    assert status == 2
    assert said in error


def test_without_the_extra_the_command_says_what_to_install(monkeypatch) -> None:
    monkeypatch.setitem(sys.modules, "uvicorn", None)
    status, _output, error = called(("valid-ref", "explore", "--serve"))
    assert status == 2
    assert "uvicorn is not installed: pip install starlette uvicorn" in error


def test_the_command_says_where_the_page_is(monkeypatch, tmp_path) -> None:
    uvicorn = pytest.importorskip("uvicorn", reason="the extra serve is not installed")
    served: list[tuple[str, int]] = []
    monkeypatch.setattr(
        uvicorn.Server, "run", lambda _self, sockets: served.append(sockets[0].getsockname())
    )
    path = tmp_path / "game.json"
    path.write_text(json.dumps(first_session().as_json()), "utf-8")
    status, output, _error = called(("valid-ref", "explore", "--serve", "--open", str(path)))
    assert status == 0
    [(host, port)] = served
    assert host == "127.0.0.1"
    assert output.startswith(f"http://127.0.0.1:{port}/")


def test_the_page_knows_the_largest_request() -> None:
    script = request(f"/{SITE.token}/play.js")[2].decode()
    assert f"const MOST_BYTES = {MOST_BYTES};" in script
    assert "file.size > MOST_BYTES" in script
    assert "encode(body).length > MOST_BYTES" in script
