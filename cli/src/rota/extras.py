"""The extra `rota[server]`: the services, NATS and MongoDB, which a client of the gateway runs without."""

from collections.abc import Iterator
from contextlib import contextmanager

from rota.errors import CliError


@contextmanager
def server_extra(command: str) -> Iterator[None]:
    """Imports inside need the extra. CliError when a package of it is not installed."""
    try:
        yield
    except ModuleNotFoundError as error:
        if (error.name or "rota").partition(".")[0] == "rota":
            raise
        what = f"expected the extra `server`, which `{command}` needs: {error.name} is not installed"
        raise CliError(what, hint="pip install 'rota[server]'") from error
