"""`python -m executor`."""

from executor.app import build
from executor.settings import Settings
from rota_common.runtime.serving import serve


def main() -> None:
    settings = Settings()
    serve(build(settings), settings)


if __name__ == "__main__":
    main()
