"""`python -m validator` runs the service."""

from rota_common.runtime.serving import run
from validator.app import build
from validator.settings import Settings

if __name__ == "__main__":
    run(Settings, build)
