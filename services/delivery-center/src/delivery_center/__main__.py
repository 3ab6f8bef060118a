"""`python -m delivery_center`: one replica of the delivery-center."""

from delivery_center.app import build
from delivery_center.settings import Settings
from rota_common.runtime.serving import serve


def main() -> None:
    settings = Settings()
    serve(build(settings), settings)


if __name__ == "__main__":
    main()
