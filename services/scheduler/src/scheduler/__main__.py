"""`python -m scheduler`."""

from rota_common.runtime.serving import serve
from scheduler.app import build
from scheduler.settings import Settings


def main() -> None:
    settings = Settings()
    serve(build(settings), settings)


if __name__ == "__main__":
    main()
