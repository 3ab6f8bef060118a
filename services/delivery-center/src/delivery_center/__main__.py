"""`python -m delivery_center`: one replica of the delivery-center."""

from delivery_center.app import build
from delivery_center.settings import Settings
from rota_common.runtime.serving import run


def main() -> None:
    run(Settings, build)


if __name__ == "__main__":
    main()
