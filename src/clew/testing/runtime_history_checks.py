"""The checks of the runtime kit about the history of a thread: what a session knows of it when it is opened."""

from __future__ import annotations

from clew.model.threads import Continuity, SessionBegan
from clew.testing.runtime_stage import RuntimeRig, Stage


async def a_restarted_runtime_knows_the_history(stage: Stage) -> None:
    """A new runtime with the stored continuity knows the earlier messages, from its own record or from
    the prelude."""
    async with RuntimeRig(stage) as first:
        session = await first.open()
        await first.run(session, "!text alpha")
        kept, past = session.continuity(), first.past
    async with RuntimeRig(stage) as second:
        second.past = past
        again = await second.open(kept)
        ended = await second.run(again, "!recall")
        assert "alpha" in ended.text, f"the agent does not know the earlier messages: {ended.text}"


async def a_session_says_how_it_began(stage: Stage) -> None:
    """`began` is `FRESH` if the agent knows nothing of the thread, else `RESUMED` (from its own session, so there is a
    continuity) or `REBUILT` (from the prelude of its first turn)."""
    async with RuntimeRig(stage) as first:
        session = await first.open()
        assert session.began() is SessionBegan.FRESH, f"a new thread: {session.began()}"
        await first.run(session, "!text alpha")
        kept, past = session.continuity(), first.past
    async with RuntimeRig(stage) as second:
        second.past = past
        again = await second.open(kept)
        began = again.began()
        assert kept is not None or began is not SessionBegan.RESUMED, "there is no session that it could have resumed"
        knows = "alpha" in (await second.run(again, "!recall")).text
        assert knows == (began is not SessionBegan.FRESH), f"it says {began}, and it knows the thread: {knows}"


async def an_unreadable_continuity_starts_a_new_session(stage: Stage) -> None:
    """A continuity that is empty, broken or of a later version starts a new session."""
    async with RuntimeRig(stage) as rig:
        for data in ("", "{}", '{"version": 99, "thread": "x", "session": "x", "new": [1]}'):
            session = await rig.open(Continuity(data), thread=f"thread{len(data)}")
            assert session.began() is not SessionBegan.RESUMED, f"it says that it resumed {data!r}"
            await rig.assert_still_works(session)
