"""The memory's settings."""

from pydantic import SecretStr

from rota_common.runtime.settings import ServiceSettings


class Settings(ServiceSettings):
    """Entries are kept at the Qdrant server `qdrant_url`, else in the folder `qdrant_path` (for one process alone).

    With neither they are kept in the process and lost with it. `qdrant_api_key` opens the server.
    """

    qdrant_url: str = ""
    qdrant_path: str = ""
    qdrant_api_key: SecretStr = SecretStr("")
