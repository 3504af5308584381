from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from clew.support.clock import SystemClock, encode_ulid, next_ulid

millis = st.integers(0, 2**48 - 1)
bits = st.integers(0, 2**80 - 1)


def test_an_id_has_26_characters_and_sorts_by_time() -> None:
    early, late = encode_ulid(1, 2**80 - 1), encode_ulid(2, 0)
    assert len(early) == len(late) == 26
    assert early < late


@given(st.lists(st.tuples(millis, st.integers(0, 2**79)), min_size=2))
def test_ids_sort_in_the_order_they_were_made_whatever_the_clock_does(looks: list[tuple[int, int]]) -> None:
    last, ids = (0, 0), []
    for now, drawn in looks:
        last = next_ulid(last, now, drawn)
        ids.append(encode_ulid(*last))
    assert ids == sorted(set(ids))


@given(millis, bits)
def test_different_times_or_random_bits_give_different_ids(now: int, drawn: int) -> None:
    assert encode_ulid(now, drawn) != encode_ulid(now, drawn ^ 1)
    assert encode_ulid(now, drawn) != encode_ulid(now ^ 1, drawn)


def test_ids_of_one_clock_are_in_order_also_when_it_is_set_back() -> None:
    class SetBack(SystemClock):
        time = 1_700_000_000_000

        def now(self) -> int:
            self.time -= 1000
            return self.time

    clock = SetBack()
    ids = [clock.ulid() for _ in range(100)]
    assert ids == sorted(set(ids))


def test_the_system_clock_advances() -> None:
    clock = SystemClock()
    assert clock.now() > 1_700_000_000_000
    assert clock.monotonic() <= clock.monotonic()
    assert 0 <= clock.random() < 1
    assert len(clock.token()) == 32
    assert clock.token() != clock.token()


async def test_sleeping_zero_seconds_returns() -> None:
    await SystemClock().sleep(0)
