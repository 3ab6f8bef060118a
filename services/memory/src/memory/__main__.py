"""`python -m memory` runs the service."""

from memory.app import build
from memory.settings import Settings
from rota_common.runtime.serving import run

if __name__ == "__main__":
    run(Settings, build)
