"""`python -m scheduler`."""

from rota_common.runtime.serving import run
from scheduler.app import build
from scheduler.settings import Settings


def main() -> None:
    run(Settings, build)


if __name__ == "__main__":
    main()
