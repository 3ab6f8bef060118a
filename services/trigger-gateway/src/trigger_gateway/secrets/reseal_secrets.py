"""Resealing: after the master key was changed, every stored secret is sealed with the new one."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from pydantic import BaseModel

from trigger_gateway.secrets.ports import Secrets
from trigger_gateway.secrets.sealed_secret import Binding, EncryptedSecret, SecretCipher, of_source, of_team
from trigger_gateway.sources.ports import Sources
from trigger_gateway.sources.source import Source, StoredSecret, WebhookSettings

PAGE = 200


class Resealing(BaseModel):
    """`keys`: the master keys by their fingerprints, the one that seals first. `left`: secrets that have another."""

    keys: list[str]
    resealed: int
    left: int


@dataclass(frozen=True, kw_only=True)
class ResealSecrets:
    """Repeated, it changes nothing; what no key opens stays as it is, and the log names it."""

    secrets: Secrets
    sources: Sources
    cipher: SecretCipher
    log: Any

    async def follow_keys(self) -> None:
        """Use the keys that the file has now; if they are others, seal everything with the first of them."""
        try:
            if self.cipher.reload():
                await self.reseal()
        except ValueError as error:
            self.log.warning("the master keys can't be read", reason=str(error))

    async def now(self) -> Resealing:
        """Seal anew with the keys that there are at this moment. Raise ValueError if they can't be read."""
        self.cipher.reload()
        resealed = await self.reseal()
        return Resealing(keys=self.cipher.fingerprints, resealed=resealed, left=await self._left())

    async def __call__(self) -> None:
        await self.reseal()

    async def reseal(self) -> int:
        """The number of secrets that were sealed anew."""
        count = await self._teams() + await self._sources()
        if count:
            self.log.info("secrets sealed anew", count=count)
        return count

    async def _left(self) -> int:
        """The number of secrets that aren't sealed with the first key."""
        found, after = list[StoredSecret](), ("", "")
        while page := await self.secrets.page(after, limit=PAGE):
            found += [stored.secret for stored in page]
            after = page[-1].team, page[-1].name
        after = "", ""
        while sources := await self.sources.page(after, limit=PAGE):
            for settings in (source.webhook for source in sources if source.webhook):
                found += [*settings.secrets, *([settings.signing_secret] if settings.signing_secret else [])]
            after = sources[-1].team, sources[-1].name
        return sum(isinstance(each, EncryptedSecret) and not self.cipher.is_current(each) for each in found)

    async def _teams(self) -> int:
        count, after = 0, ("", "")
        while page := await self.secrets.page(after, limit=PAGE):
            for stored in page:
                new = self._resealed(stored.secret, of_team(stored.team, stored.name))
                if new is not None:
                    await self.secrets.reseal(stored, new)
                    count += 1
            after = page[-1].team, page[-1].name
        return count

    async def _sources(self) -> int:
        count, after = 0, ("", "")
        while page := await self.sources.page(after, limit=PAGE):
            for source in page:
                changed = self._changed(source)
                if changed is not None and await self.sources.replace(changed, expected=source):
                    count += 1
            after = page[-1].team, page[-1].name
        return count

    def _changed(self, source: Source) -> Source | None:
        if source.webhook is None:
            return None
        bound_to = of_source(source.team, source.name)
        settings = source.webhook
        secrets = self._all(settings.secrets, bound_to)
        signing = self._all([settings.signing_secret], bound_to)[0] if settings.signing_secret else None
        new: WebhookSettings = settings.model_copy(update={"secrets": secrets, "signing_secret": signing})
        return None if new == settings else replace(source, webhook=new, rev=source.rev + 1)

    def _all(self, secrets: Sequence[StoredSecret], bound_to: Binding) -> list[StoredSecret]:
        return [
            (self._resealed(secret, bound_to) or secret) if isinstance(secret, EncryptedSecret) else secret
            for secret in secrets
        ]

    def _resealed(self, secret: EncryptedSecret, bound_to: Binding) -> EncryptedSecret | None:
        """None if it is sealed with the first key already, or opened by none."""
        if self.cipher.is_current(secret):
            return None
        try:
            return self.cipher.encrypt(self.cipher.decrypt(secret, bound_to=bound_to), bound_to=bound_to)
        except ValueError as error:
            self.log.warning("secret can't be opened", of="/".join(bound_to), reason=str(error))
            return None
