"""The recipients of notices, which the gateway knows."""

from rota_common.bus.rpc import Ask
from rota_contracts.catalog import READ_RECIPIENT
from rota_contracts.messages.notice import ReadRecipient, RecipientReply


class NatsRecipients:
    def __init__(self, ask: Ask) -> None:
        self._ask = ask

    async def read(self, asked: ReadRecipient) -> RecipientReply:
        return await self._ask(READ_RECIPIENT, asked)
