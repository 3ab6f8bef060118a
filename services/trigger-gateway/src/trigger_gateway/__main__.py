"""`python -m trigger_gateway`: run the gateway until SIGTERM."""

from rota_common.runtime.serving import serve
from trigger_gateway.app import build
from trigger_gateway.settings import Settings


def main() -> None:
    settings = Settings()
    serve(build(settings), settings, drain=settings.drain_seconds)


if __name__ == "__main__":
    main()
