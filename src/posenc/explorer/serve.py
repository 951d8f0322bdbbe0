"""Starting the explorer: a free port, its address, and a stop that is at once."""

import errno
import logging
import os
import socket
import webbrowser
from collections.abc import Callable
from threading import Thread

import uvicorn

from posenc.core.mechanisms import Encoding
from posenc.explorer import app
from posenc.explorer.asked import Tokenizer
from posenc.explorer.connections import Connection
from posenc.explorer.guard import LOCAL

TRIES = 50
"""How many ports after the wanted one are tried."""


IN_USE = (errno.EADDRINUSE, 10048)  # of Windows


def listening(host: str, port: int) -> tuple[socket.socket, int]:
    """A socket on the port, or on the next one that is free; port 0 is any free one."""
    if not host:
        raise ValueError("host must be an address, such as 127.0.0.1; got host=''")
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    for candidate in [port] if port == 0 else range(port, min(port + TRIES, 65_536)):
        made = socket.socket(family, socket.SOCK_STREAM)
        if os.name != "nt":  # where it would take the port from whoever has it
            made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            made.bind((host, candidate))
            made.listen(512)
        except OSError as error:
            made.close()
            if error.errno not in IN_USE:
                raise ValueError(
                    f"cannot listen on {host}:{candidate}: {error.strerror}"
                ) from error
        except (TypeError, ValueError) as error:  # no name of a host can be made of it
            made.close()
            raise ValueError(f"host must be an address or a name; got {host!r}") from error
        else:
            return made, int(made.getsockname()[1])
    raise ValueError(f"port must be free, or one of the next {TRIES}; got {port}")


class Server(uvicorn.Server):
    """uvicorn's, which tells those who still wait that it stops instead of waiting for them."""

    def __init__(self, config: uvicorn.Config, crew: app.Crew) -> None:
        super().__init__(config)
        self._crew = crew

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Stop."""
        for workers in self._crew:
            workers.close()
        # who sends half a request is cut off, and that is nothing to report
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
    made, taken = listening(host, port)
    if port not in (0, taken):
        say(f"port {port} is in use; taking {taken}")
    shown = f"[{host}]" if ":" in host else host
    address = f"http://{shown}:{taken}/{query}"
    hosts = LOCAL if host in ("127.0.0.1", "::1", "localhost") else (*LOCAL, shown, _own_name())
    crew = app.crew_of()
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
    if open_page:  # some browsers keep who opens them waiting
        Thread(target=webbrowser.open, args=(address,), daemon=True).start()
    try:
        Server(config, crew).run(sockets=[made])
    except KeyboardInterrupt:
        pass
    finally:
        made.close()


def _own_name() -> str:
    return socket.gethostname()
