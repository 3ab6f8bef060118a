"""`python -m learner` runs the service."""

from learner.app import build
from learner.settings import Settings
from rota_common.runtime.serving import run

if __name__ == "__main__":
    run(Settings, build)
