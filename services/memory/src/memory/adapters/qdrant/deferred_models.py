"""Pydantic models of a library that are built when they are used.

qdrant-client has 340, and a handful is used here: built all at its import, as it would, they take 15 MB and 0.8 s of a
processor.
"""

from collections.abc import Iterator
from contextlib import contextmanager

from pydantic import BaseModel


@contextmanager
def models_built_when_used() -> Iterator[None]:
    """Models that are defined within are built at their first use, and not when `model_rebuild` is called within."""
    rebuild = BaseModel.__dict__["model_rebuild"]
    BaseModel.model_config["defer_build"] = True
    # As it was again below: a library that rebuilds all its models at its end leaves them alone meanwhile.
    BaseModel.model_rebuild = classmethod(lambda *_, **__: None)  # type: ignore[method-assign, assignment]
    try:
        yield
    finally:
        BaseModel.model_rebuild = rebuild  # type: ignore[method-assign]  # what it was
        del BaseModel.model_config["defer_build"]
