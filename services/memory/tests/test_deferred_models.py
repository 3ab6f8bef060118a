"""A library's models that are built when they are used."""

import subprocess
import sys

from pydantic import BaseModel

from memory.adapters.qdrant.deferred_models import models_built_when_used

OF_QDRANT = """
from memory.adapters.real import Qdrant
from qdrant_client import models
from pydantic import BaseModel
known = [each for each in vars(models).values() if isinstance(each, type) and issubclass(each, BaseModel)]
built = [each.__name__ for each in known if each.__pydantic_complete__]
print(len(known) > 300 and len(built) < 30, built)
"""


def test_models_are_built_at_their_first_use_with_what_they_refer_to() -> None:
    with models_built_when_used():

        class Outer(BaseModel):
            inner: "Inner"

        class Inner(BaseModel):
            size: int

        Outer.model_rebuild()
        assert not Outer.__pydantic_complete__
    assert Outer.model_validate({"inner": {"size": "3"}}).inner == Inner(size=3)

    class Usual(BaseModel):
        outer: "Later"

    class Later(BaseModel):
        size: int

    assert (Later.__pydantic_complete__, Usual.model_rebuild()) == (True, True)


def test_those_of_qdrant_client_are() -> None:
    said = subprocess.run([sys.executable, "-c", OF_QDRANT], capture_output=True, text=True, check=True).stdout
    assert said.startswith("True"), said
