"""The documents of a team in each collection of the delivery-center's database."""

from rota_common.stores.team_documents import Of, any_of, by, by_prefix
from rota_contracts.catalog import CHANNELS

FEED_SUBJECTS = [f"{channel.type}.{{team}}." for channel in CHANNELS.values() if channel.sequenced]

TEAM_DOCUMENTS: dict[str, Of | None] = {
    "deliveries": by("context.team_id"),
    "targets": by("team_id"),
    "subscriptions": by("team_id"),
    "suppressions": by("team_id"),
    "mail_counts": by_prefix("{team}:"),
    "notice_counts": by_prefix("{team}:"),
    "feed": any_of(*map(by_prefix, FEED_SUBJECTS)),
    "sent_notices": None,  # ids alone, for 30 days
}
