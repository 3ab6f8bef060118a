"""`python -m executor`."""

from executor.app import build
from executor.settings import Settings
from rota_common.runtime.serving import run


def main() -> None:
    run(Settings, build)


if __name__ == "__main__":
    main()
