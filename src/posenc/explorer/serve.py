"""Starting the explorer: a free port, its address, and a stop that is at once."""

import socket
import webbrowser
from collections.abc import Callable

import uvicorn

from posenc.explorer.app import application
from posenc.explorer.asked import Tokenizer
from posenc.explorer.guard import LOCAL
from posenc.explorer.page import MISSING, STATIC
from posenc.mechanisms import Encoding

TRIES = 50
"""How many ports after the wanted one are tried."""


def listening(host: str, port: int) -> tuple[socket.socket, int]:
    """A socket on the port, or on the next one that is free; port 0 is any free one."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    for candidate in [port] if port == 0 else range(port, min(port + TRIES, 65_536)):
        made = socket.socket(family, socket.SOCK_STREAM)
        made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            made.bind((host, candidate))
            made.listen(128)
        except OSError as error:
            made.close()
            if error.errno not in IN_USE:
                raise ValueError(
                    f"cannot listen on {host}:{candidate}: {error.strerror}"
                ) from error
        else:
            return made, int(made.getsockname()[1])
    raise ValueError(f"port must be free, or one of the next {TRIES}; got {port}")


IN_USE = (48, 98, 10048)  # EADDRINUSE of macOS, Linux and Windows


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
    if not (STATIC / "index.html").exists():
        raise ValueError(MISSING.strip())
    made, taken = listening(host, port)
    if port not in (0, taken):
        say(f"port {port} is in use; taking {taken}")
    shown = f"[{host}]" if ":" in host else host
    address = f"http://{shown}:{taken}/{query}"
    hosts = LOCAL if host in ("127.0.0.1", "::1", "localhost") else (*LOCAL, shown, _own_name())
    config = uvicorn.Config(
        application(loaded=loaded, tokenizer=tokenizer, hosts=hosts),
        log_level="warning",
        access_log=False,
        timeout_graceful_shutdown=1,
        server_header=False,
        limit_concurrency=512,
    )
    server = uvicorn.Server(config)
    say(f"posenc explorer: {address}")
    if open_page:
        webbrowser.open(address)
    try:
        server.run(sockets=[made])
    except KeyboardInterrupt:
        pass
    finally:
        made.close()


def _own_name() -> str:
    return socket.gethostname()
