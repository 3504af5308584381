"""Looks up and caches people's names: messages have only ids."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Iterable
from urllib.parse import quote

from clew.model.surface import NotSent
from clew.surfaces.feishu.api import OpenApi, Refusal
from clew.surfaces.feishu.events import Mention

MOST = 2000
TIME_LIMIT = 1.0  # seconds; an event must be answered within three


class Names:
    def __init__(self, api: OpenApi) -> None:
        self._api = api
        self._known: OrderedDict[str, str] = OrderedDict()

    def learn(self, mentions: Iterable[Mention]) -> None:
        for mention in mentions:
            if mention.person_id and mention.name:
                self._store(mention.person_id, mention.name)

    async def of(self, person: str) -> str:
        """Return a person's name; their id if the name is unknown."""
        if person not in self._known:
            try:
                async with asyncio.timeout(TIME_LIMIT):
                    self._store(person, await self._fetch(person))
            except Refusal:
                self._store(person, person)  # the app has no permission
            except (NotSent, TimeoutError):
                return person
        return self._known[person]

    async def _fetch(self, person: str) -> str:
        path = f"/open-apis/contact/v3/users/{quote(person, safe='')}"
        user = (await self._api.call("GET", path, query={"user_id_type": "open_id"})).get("user")
        name = user.get("name") if isinstance(user, dict) else None
        return name if isinstance(name, str) and name else person

    def _store(self, person: str, name: str) -> None:
        self._known[person] = name
        while len(self._known) > MOST:
            self._known.popitem(last=False)
