"""Knowledge in Qdrant. qdrant-client is imported here, before any module of this package asks for a part of it."""

from memory.adapters.qdrant.deferred_models import models_built_when_used

with models_built_when_used():
    import qdrant_client  # noqa: F401
