"""The cursor of a page of deliveries."""

from delivery_center.domain.delivery import Delivery
from rota_common.page_cursor import PageCursor


def cursor_of(delivery: Delivery) -> PageCursor:
    return PageCursor(delivery.created_at, delivery.request_id)
