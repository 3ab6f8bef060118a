"""`python -m trigger_gateway`: run the gateway until SIGTERM."""

from rota_common.runtime.serving import run
from trigger_gateway.app import build
from trigger_gateway.settings import Settings


def main() -> None:
    run(Settings, build, drain=lambda settings: settings.drain_seconds)


if __name__ == "__main__":
    main()
