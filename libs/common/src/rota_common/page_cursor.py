"""The cursor of a page: the instant and the id of its last item, as opaque text."""

import base64
import binascii
import json
from dataclasses import dataclass
from datetime import datetime

from rota_common.errors import Permanent


@dataclass(frozen=True, slots=True, order=True)
class PageCursor:
    at: datetime
    item_id: str

    def text(self) -> str:
        plain = json.dumps([self.at.isoformat(), self.item_id], ensure_ascii=False)
        return base64.urlsafe_b64encode(plain.encode()).decode().rstrip("=")


def parse_cursor(text: str) -> PageCursor | None:
    """None for an empty text. Raises Permanent for one that is no cursor."""
    if not text:
        return None
    try:
        at, item_id = json.loads(base64.urlsafe_b64decode(text + "=" * (-len(text) % 4)))
        cursor = PageCursor(datetime.fromisoformat(at), str(item_id))
    except (binascii.Error, ValueError, TypeError) as error:
        raise Permanent(f"expected after as the next of an earlier answer, not {text[:50]!r}") from error
    if cursor.at.tzinfo is None:
        raise Permanent(
            f"expected after as the next of an earlier answer, not {text[:50]!r}: its instant has no offset"
        )
    return cursor
