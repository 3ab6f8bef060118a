"""Knowledge in Qdrant. qdrant-client is imported here, before any module of this package asks for a part of it."""

from importlib import import_module

from memory.adapters.qdrant.deferred_models import models_built_when_used

with models_built_when_used():
    import_module("qdrant_client")
