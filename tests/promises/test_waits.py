"""Promise 14: a wait has an end."""

from __future__ import annotations

from pathlib import Path

from clew.model.threads import SuspendedBy, ThreadFilter, ThreadStatus
from tests.engine.agents.test_parking import HOUR, MINUTE, Limited


async def test_14_a_wait_has_an_end(tmp_path: Path) -> None:
    """A parked thread says until when it waits, also after the daemon was killed, and then runs once."""
    async with Limited(tmp_path) as rig:
        said = await rig.say("go")
        before = await rig.parked(said.thread)
        (view,) = (await rig.engine.threads.page(ThreadFilter(status=ThreadStatus.SUSPENDED))).threads
        assert view.wake_at == before.wake_at and "Resumes" in (view.suspend_message or "")
    async with Limited(tmp_path, frees_after=0) as rig:
        after = await rig.thread(said.thread)
        assert (after.suspended_by, after.wake_at) == (SuspendedBy.LIMIT, before.wake_at)
        rig.pass_time(2 * HOUR + 4 * MINUTE)
        assert (await rig.ended(said.turn)).state == "completed" and rig.asked == [said.turn]
        assert (await rig.thread(said.thread)).wake_at is None
