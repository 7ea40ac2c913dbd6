"""The server of the page: on this machine only, for whoever knows the address.

It listens on 127.0.0.1, answers requests whose Host and Origin are its own, under an address that
nobody can guess, and takes JSON of bounded size. It keeps no session: the page does.
"""

import json
import secrets
import socket
from collections.abc import Callable, Mapping
from typing import Any

import attrs

from valid_ref.play.commands import answer, text_of
from valid_ref.play.page import MOST_BYTES, page_files
from valid_ref.play.session import Session
from valid_ref.trace import Specification, load_specification

HOST = "127.0.0.1"
HEADERS: Mapping[str, str] = {
    "Content-Security-Policy": (
        "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; "
        "img-src data:; form-action 'none'; base-uri 'none'; frame-ancestors 'none'"
    ),
    "Cache-Control": "no-store",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}


@attrs.frozen
class Site:
    """What the server answers with: its own address, the game it opens with, the specification."""

    port: int
    token: str
    first: Session
    specification: Specification = attrs.field(repr=False)

    @property
    def address(self) -> str:
        """The address of the page."""
        return f"http://{HOST}:{self.port}/{self.token}/"

    @property
    def hosts(self) -> frozenset[str]:
        """The values of Host that are its own; another one is a name that leads here by deceit."""
        return frozenset({f"{HOST}:{self.port}", f"localhost:{self.port}"})


def application(site: Site) -> Any:
    """The site as an ASGI application."""
    from starlette.applications import Starlette
    from starlette.concurrency import run_in_threadpool
    from starlette.requests import Request
    from starlette.responses import PlainTextResponse, Response
    from starlette.routing import Route

    served = page_files()

    def refused(status: int, text: str) -> Response:
        return PlainTextResponse(f"{text}\n", status)

    def file(request: Request) -> Response:
        name = request.path_params["name"]
        if name not in served:
            return refused(404, "there is no such file")
        kind, content = served[name]
        return Response(content, media_type=kind)

    async def command(request: Request) -> Response:
        if request.headers.get("origin") not in {f"http://{host}" for host in site.hosts}:
            return refused(403, "this comes from another page")
        if request.headers.get("content-type") != "application/json":
            return refused(415, "only application/json is taken")
        body = b""
        async for part in request.stream():
            body += part
            if len(body) > MOST_BYTES:
                return refused(413, f"more than {MOST_BYTES} bytes")
        found = await run_in_threadpool(reply, site, body)
        return Response(found, media_type="application/json")

    routed = Starlette(
        routes=[
            Route("/{token}/command", command, methods=["POST"]),
            Route("/{token}/{name:path}", file, methods=["GET"]),
        ]
    )

    async def guarded(scope: Any, receive: Any, send: Any) -> None:
        """Every request is checked before it is routed; every answer has the headers."""

        async def protected(message: Any) -> None:
            if message["type"] == "http.response.start":
                own = [(name.lower().encode(), value.encode()) for name, value in HEADERS.items()]
                message = {**message, "headers": [*message.get("headers", ()), *own]}
            await send(message)

        wrong = checked(scope) if scope["type"] == "http" else None
        await (routed if wrong is None else wrong)(scope, receive, protected)

    def checked(scope: Any) -> Response | None:
        if Request(scope).headers.get("host") not in site.hosts:
            return refused(421, "this server has another name")
        token = scope["path"].removeprefix("/").partition("/")[0]
        if not secrets.compare_digest(token.encode("utf-8", "replace"), site.token.encode()):
            return refused(404, "there is nothing here: use the address that was printed")
        return None

    return guarded


def reply(site: Site, body: bytes) -> bytes:
    """The answer to the body of a request; an empty one asks for the game that the page opens with.

    Implements: VA-6.
    """
    try:
        text = body.decode() or json.dumps(
            {"session": text_of(site.first), "command": {"kind": "look"}}
        )
    except UnicodeDecodeError:
        found: dict[str, Any] = {"refused": {"message": "$: not UTF-8", "clause": "VA-6"}}
    else:
        found = answer(text, site.specification)
    return json.dumps(found, allow_nan=False).encode()


def serve(first: Session, port: int, told: Callable[[str], None]) -> None:
    """Serve the page until Ctrl-C; `told` gets its address when it can be opened.

    Port 0 is any that is free.
    """
    import uvicorn

    with socket.create_server((HOST, port)) as listening:
        site = Site(
            port=listening.getsockname()[1],
            token=secrets.token_urlsafe(24),
            first=first,
            specification=load_specification(),
        )
        config = uvicorn.Config(
            application(site),
            log_level="warning",
            access_log=False,
            lifespan="off",
            server_header=False,
            limit_concurrency=32,
        )
        told(site.address)
        uvicorn.Server(config).run(sockets=[listening])
