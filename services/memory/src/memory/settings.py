"""The memory's settings."""

from rota_common.runtime.settings import ServiceSettings


class Settings(ServiceSettings):
    """Knowledge lies at the Qdrant server `qdrant_url`, else in the folder `qdrant_path` (for one process alone).

    With neither it lies in the process and is gone with it.
    """

    qdrant_url: str = ""
    qdrant_path: str = ""
