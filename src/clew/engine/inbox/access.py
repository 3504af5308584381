"""Access control: only senders whom the config names, or whose pairing code was confirmed locally, may speak. A watcher
may read; a driver may also send and answer; an owner may also admit others. It never looks at the message text."""

from __future__ import annotations

from clew.engine.core import Core
from clew.engine.delivery.enqueue import enqueue_greeting
from clew.engine.delivery.language import language_known, remember_language
from clew.model.events.logged import PersonAsked
from clew.model.messages import Conversation, Fate, Inbound, Person, Role
from clew.model.views import AskingView, PersonView
from clew.store import Tx
from clew.store.tables import people as rows
from clew.store.tables import places
from clew.store.tables.inbox import Arrival
from clew.store.tables.people import PairingRequest
from clew.support.coded import Text
from clew.support.errors import BadInput, NotFound, Refused
from clew.support.text import clean
from clew.texts import chat_messages
from clew.texts.catalogue import say

SPEAKERS = frozenset({Role.OWNER, Role.DRIVER})
LETTERS = "23456789ABCDEFGHJKLMNPQRSTUVWXYZ"  # 32, without look-alikes
LENGTH = 8
CODE_LASTS = 3600 * 1000  # milliseconds
MAX_CODES = 20  # that one surface gives out in that time
MAX_FAILURES = 5  # wrong codes in a row, after which none is accepted for CODE_LASTS


def role_of(tx: Tx, core: Core, inbound: Inbound) -> Role | None:
    """The sender's role; None if the sender is unknown."""
    surface = core.surfaces.get(inbound.conversation.surface)
    if surface is None or not surface.can.chat:
        return Role.OWNER  # such a surface authenticates its clients itself
    if not inbound.sender_id:
        return None
    person = rows.get(tx, surface.name, inbound.sender_id)
    if person is not None:
        return person.role
    allowed = core.allowed(surface.name)
    if inbound.sender_id not in allowed or rows.has_row(tx, surface.name, inbound.sender_id):
        return None  # a role that cannot be read may have been less than the config would give
    return Role.OWNER if len(allowed) == 1 else Role.DRIVER  # the only one who is allowed owns this clew


def sees_everything(tx: Tx, core: Core, inbound: Inbound) -> bool:
    """Whether its sender may be shown every thread there: an owner, where nobody else reads it. Everybody else is shown
    the threads of their conversation."""
    return not inbound.in_group and role_of(tx, core, inbound) is Role.OWNER


def remember_owner_chat(tx: Tx, core: Core, inbound: Inbound) -> None:
    """The direct chat in which an owner writes first is the home of its surface, until somebody says otherwise."""
    surface = core.surfaces.get(inbound.conversation.surface)
    is_direct = surface is not None and surface.can.chat and not inbound.in_group
    if is_direct and role_of(tx, core, inbound) is Role.OWNER:
        _set_owner_chat(tx, core, inbound.conversation, inbound.sender_id)


def _set_owner_chat(tx: Tx, core: Core, where: Conversation, owner: str) -> None:
    if places.owner_chat(tx, where.surface) is None:
        places.set_owner_chat(tx, core.parent_of(where) or where, owner)


def refusal(tx: Tx, core: Core, inbound: Inbound) -> Arrival | None:
    """The refusal for a sender who may not speak; None if they may."""
    role = role_of(tx, core, inbound)
    if role in SPEAKERS:
        return None
    if not inbound.in_group:
        remember_language(tx, core, inbound)
    reply = _reply_to_stranger(tx, core, inbound) if role is None else chat_messages.WATCHER
    return Arrival(Fate.REFUSED, None, None, _for_newcomer(tx, core, inbound.conversation, reply) if reply else "")


def _for_newcomer(tx: Tx, core: Core, where: Conversation, text: Text) -> str:
    """In both languages, until it is known which one they read there."""
    return text if language_known(tx, core, where) else chat_messages.in_both_languages(text)


def _reply_to_stranger(tx: Tx, core: Core, inbound: Inbound) -> Text | None:
    """Once an hour: a pairing code in a direct chat; in a group, where others read it, only that they are unknown."""
    surface, now = inbound.conversation.surface, core.clock.now()
    asked = rows.asked_at(tx, surface, inbound.sender_id)
    if not inbound.sender_id or inbound.pressed:
        return chat_messages.STRANGER
    if inbound.in_group:
        return (
            chat_messages.STRANGER if rows.mark_stranger_told(tx, surface, inbound.sender_id, now, CODE_LASTS) else None
        )
    if asked is not None and now - CODE_LASTS < asked <= now:
        return None  # they have a code already
    if rows.count_asked(tx, surface, now - CODE_LASTS) >= MAX_CODES:
        return (
            chat_messages.STRANGER if rows.mark_stranger_told(tx, surface, inbound.sender_id, now, CODE_LASTS) else None
        )
    code = _code(core)
    rows.request_pairing(tx, PairingRequest(inbound.conversation, inbound.sender_id, clean(inbound.sender), code, now))
    tx.log("", None, now, PersonAsked(surface))
    return chat_messages.pairing(code)


def _code(core: Core) -> str:
    drawn = int(core.clock.token(), 16)
    return "".join(LETTERS[(drawn >> (5 * place)) % 32] for place in range(LENGTH))


class Access:
    """Lists, pairs and removes people, for local clients."""

    def __init__(self, core: Core) -> None:
        self._core = core

    async def all(self) -> list[PersonView]:
        return await self._core.store.read(lambda tx: [_view(person) for person in rows.all_people(tx)])

    async def asking(self) -> list[AskingView]:
        """Unknown senders of the last hour with their pairing codes."""
        since = self._core.clock.now() - CODE_LASTS
        found = await self._core.store.read(lambda tx: rows.pairing_requests(tx, since))
        return [AskingView(f"{each.where.surface}:{each.id}", each.name, each.code, each.at) for each in found]

    async def pair(self, code: str, role: Role, by: str, *, force: bool = False) -> PersonView:
        """Admit the sender who got this code. Raises Refused if the code is wrong or expired, or after too many wrong
        ones. `force`: skip that lock; a wrong code is still refused, and does not lift the lock for others."""
        now = self._core.clock.now()

        def body(tx: Tx) -> PersonView | Refused:
            failed, until = rows.failures(tx)
            locked = until if now < until <= now + CODE_LASTS else 0
            if locked and not force:
                return Refused(say("people.locked", minutes=(locked - now) // 60_000 + 1))
            found = rows.redeem_code(tx, code.strip().upper(), now - CODE_LASTS)
            if found is None:
                failed += 1
                rows.set_failures(tx, failed % MAX_FAILURES, now + CODE_LASTS if failed >= MAX_FAILURES else locked)
                return Refused(say("people.no_code", code=code))
            rows.set_failures(tx, 0, 0)
            person = Person(found.where.surface, found.id, found.name, role, now, by)
            rows.add(tx, person)
            places.forget_owner_chat(tx, person.surface, person.id)
            if role is Role.OWNER:
                _set_owner_chat(tx, self._core, found.where, person.id)
            welcome = _for_newcomer(tx, self._core, found.where, chat_messages.WELCOME)
            enqueue_greeting(tx, self._core, found.where, welcome, f"{found.code}:welcome")
            return _view(person)

        paired = await self._core.store.write(body)  # the error is returned: raising would undo the failure count
        if isinstance(paired, Refused):
            raise paired
        return paired

    async def remove(self, name: str) -> PersonView:
        """`SURFACE:ID`. Raises NotFound."""
        surface, _, id = name.partition(":")
        if not id:
            raise BadInput(say("people.not_a_person", name=repr(name)))

        if id in self._core.allowed(surface):
            raise Refused(say("people.allowed_by_config", name=name, surface=surface))

        def body(tx: Tx) -> PersonView:
            person = rows.get(tx, surface, id)
            if person is None:
                raise NotFound(say("people.not_known", name=name))
            rows.remove(tx, surface, id)
            places.forget_owner_chat(tx, surface, id)
            return _view(person)

        return await self._core.store.write(body)


def _view(person: Person) -> PersonView:
    name = f"{person.surface}:{person.id}"
    return PersonView(name, person.name, person.role, person.added_at, person.added_by)
