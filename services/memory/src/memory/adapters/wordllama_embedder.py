"""Text to vectors with the weights of the `wordllama` wheel: small, local, and no download.

It computes what `wordllama` computes (the mean of its tokens' vectors), but maps the weights from disk: importing the
package would copy them into 33 MB of memory and bring an HTTP client along.
"""

import asyncio
import importlib.util
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from tokenizers import Tokenizer

from memory.ports import Vector
from rota_common.errors import Permanent

WEIGHTS, TOKENIZER = "weights/l2_supercat_256.safetensors", "tokenizers/l2_supercat_tokenizer_config.json"
TENSOR = "embedding.weight"


class WordllamaEmbedder:
    """`load` it once, before anything else."""

    dimensions = 256

    def __init__(self) -> None:
        self._model: tuple[Tokenizer, NDArray[Any]] | None = None

    async def load(self) -> None:
        """Raises Permanent if the wheel isn't installed or holds other files."""
        self._model = self._model or await asyncio.to_thread(_load)

    async def embed(self, texts: Sequence[str]) -> list[Vector]:
        return await asyncio.to_thread(lambda: [self._vector(text) for text in texts])

    def _vector(self, text: str) -> Vector:
        assert self._model is not None, "load() comes first"
        tokenizer, rows = self._model
        ids = tokenizer.encode(text, add_special_tokens=False).ids
        if not ids:
            return [0.0] * self.dimensions
        mean = rows[ids].astype(np.float32).mean(axis=0)
        length = float(np.linalg.norm(mean))
        vector: Vector = (mean / length if length else mean).tolist()
        return vector


def _load() -> tuple[Tokenizer, NDArray[Any]]:
    spec = importlib.util.find_spec("wordllama")
    if spec is None or spec.origin is None:
        raise Permanent("found no wordllama, which brings the embedder's weights: `pip install wordllama`")
    folder = Path(spec.origin).parent
    if missing := [name for name in (WEIGHTS, TOKENIZER) if not (folder / name).exists()]:
        raise Permanent(f"expected {', '.join(missing)} in the wordllama package: install the version memory asks for")
    return Tokenizer.from_file(str(folder / TOKENIZER)), _mapped(folder / WEIGHTS)


def _mapped(path: Path) -> NDArray[Any]:
    """The matrix in a safetensors file: 8 bytes of header length, the header as JSON, then the numbers."""
    with path.open("rb") as file:
        length = int.from_bytes(file.read(8), "little")
        tensor = json.loads(file.read(length))[TENSOR]
    if tensor["dtype"] != "F16":
        raise Permanent(f"expected {TENSOR} of {path.name} in F16, got {tensor['dtype']}")
    return np.memmap(
        path, dtype="<f2", mode="r", offset=8 + length + tensor["data_offsets"][0], shape=tuple(tensor["shape"])
    )
