"""The explorer as a server process: a free port, its address, an immediate shutdown."""

import errno
import logging
import os
import socket
import webbrowser
from collections.abc import Callable
from threading import Thread

import uvicorn

from posenc.core.encoding import Encoding
from posenc.explorer import app
from posenc.explorer.connections import Connection
from posenc.explorer.guard import LOCAL
from posenc.explorer.requests import Tokenizer

TRIES = 50
"""Ports that are tried, beginning with the given one."""
IN_USE = (errno.EADDRINUSE, 10048)  # 10048 on Windows


def bind_socket(host: str, port: int) -> tuple[socket.socket, int]:
    """A listening socket on `port` or the next free one, and its port; port 0 is any free one."""
    if not host:
        raise ValueError("host must be an address, such as 127.0.0.1; got host=''")
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    for candidate in [port] if port == 0 else range(port, min(port + TRIES, 65_536)):
        listener = socket.socket(family, socket.SOCK_STREAM)
        if os.name != "nt":  # where it would share a port in use
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind((host, candidate))
            listener.listen(512)
        except OSError as error:
            listener.close()
            if error.errno not in IN_USE:
                raise ValueError(
                    f"cannot listen on {host}:{candidate}: {error.strerror}"
                ) from error
        except (TypeError, ValueError) as error:  # not a valid host name
            listener.close()
            raise ValueError(f"host must be an address or a name; got {host!r}") from error
        else:
            return listener, int(listener.getsockname()[1])
    raise ValueError(f"port must be free, or one of the next {TRIES}; got {port}")


class Server(uvicorn.Server):
    """uvicorn's server, which on shutdown refuses pending requests instead of awaiting them."""

    def __init__(self, config: uvicorn.Config, crew: app.Crew) -> None:
        super().__init__(config)
        self._crew = crew

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Refuse pending requests, then shut down."""
        for workers in self._crew:
            workers.close()
        # connections cut off in the middle of a request need no report
        logging.getLogger("uvicorn.error").setLevel(logging.CRITICAL)
        await super().shutdown(sockets)


def serve(
    *,
    host: str = "127.0.0.1",
    port: int = 8765,
    loaded: dict[str, Encoding] | None = None,
    tokenizer: Tokenizer | None = None,
    query: str = "",
    open_page: bool = True,
    say: Callable[[str], None] = print,
) -> None:
    """Serve the explorer until it is stopped."""
    if not (app.STATIC / "index.html").exists():
        raise ValueError(app.MISSING)
    listener, taken = bind_socket(host, port)
    if port not in (0, taken):
        say(f"port {port} is in use; taking {taken}")
    shown = f"[{host}]" if ":" in host else host
    address = f"http://{shown}:{taken}/{query}"
    is_local = host in ("127.0.0.1", "::1", "localhost")
    hosts = LOCAL if is_local else (*LOCAL, shown, socket.gethostname())
    crew = app.make_crew()
    config = uvicorn.Config(
        app.application(loaded=loaded, tokenizer=tokenizer, hosts=hosts, crew=crew),
        log_level="warning",
        access_log=False,
        timeout_graceful_shutdown=1,
        server_header=False,
        proxy_headers=False,
        http=Connection,
        limit_concurrency=256,
        ws="none",
    )
    say(f"posenc explorer: {address}")
    if open_page:  # some browsers block until they are closed
        Thread(target=webbrowser.open, args=(address,), daemon=True).start()
    try:
        Server(config, crew).run(sockets=[listener])
    except KeyboardInterrupt:
        pass
    finally:
        listener.close()
