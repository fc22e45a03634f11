"""Tasks in this process: their order, their batches, and what they share."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pytest

from resweep.work import MAX_TASK_S, MIN_TASK_S, OneProcess, Threads, cache, choose_batch, clear_cache, map_batches


class Elsewhere:
    """Workers that are not here, as far as anyone can tell; counts the items of each task."""

    count = 2

    def __init__(self) -> None:
        self.sizes: list[int] = []

    def map(
        self, function: Callable[[Any], Any], items: Sequence[Any], what: str, *, show: bool = True
    ) -> Iterator[Any]:
        for item in items:
            self.sizes.append(len(item))
            yield function(item)


@pytest.mark.parametrize("workers", [OneProcess(), Threads(3), Elsewhere()])
def test_results_come_in_the_order_of_the_items(workers: Any) -> None:
    def slow_first(number: int) -> int:
        time.sleep(0.02 if number == 0 else 0.0)
        return number * number

    assert list(map_batches(workers, slow_first, range(37), "squares", show=False)) == [n * n for n in range(37)]


def test_items_that_take_little_time_share_a_task() -> None:
    workers = Elsewhere()
    list(map_batches(workers, lambda number: time.sleep(0.001), range(400), "waits", show=False))
    assert workers.sizes[:2] == [2, 2], "those are timed"
    assert min(workers.sizes[2:-1]) >= 0.1 * MIN_TASK_S / 0.001, "sleeping takes longer than asked for"


@pytest.mark.parametrize(
    ("count", "seconds", "workers", "expected"),
    [
        (1000, 0.01, 2, 50),  # much work: as long as a task may last
        (40, 0.01, 2, 10),  # little work: as short as it may be
        (160, 0.01, 2, 20),  # between: four tasks for each worker
        (1000, 2.0, 2, 1),
        (10, 0.001, 2, 100),
    ],
)
def test_the_size_of_a_batch(count: int, seconds: float, workers: int, expected: int) -> None:
    assert (MIN_TASK_S, MAX_TASK_S) == (0.1, 0.5)
    assert choose_batch(count, seconds, workers) == expected


@pytest.mark.parametrize("workers", [OneProcess(), Threads(2)])
def test_an_error_ends_the_work(workers: Any) -> None:
    begun = []

    def fail(number: int) -> int:
        begun.append(number)
        if number == 2:
            raise ValueError("number 2")
        return number

    with pytest.raises(ValueError, match="number 2"):
        list(workers.map(fail, range(1000), "numbers", show=False))
    assert len(begun) < 20


def test_threads_run_at_the_same_time_and_not_far_ahead() -> None:
    meeting, begun = threading.Barrier(3, timeout=120), []

    def meet(number: int) -> int:
        begun.append(number)
        meeting.wait()
        return number

    results = Threads(3).map(meet, range(300), "meetings", show=False)
    assert next(results) == 0
    time.sleep(0.05)
    assert len(begun) <= 9 + 3
    assert list(results) == list(range(1, 300))


def test_what_is_cached_is_computed_once_until_the_cache_is_cleared() -> None:
    made = []

    @cache(2)
    def make(name: str) -> list[str]:
        made.append(name)
        return [name]

    assert make("a") is make("a")
    assert make("b") is make("b")
    make("a")
    make("c")  # takes the place of b, which was not asked for since
    assert (make("a"), made) == (["a"], ["a", "b", "c"])
    make("b")
    assert made == ["a", "b", "c", "b"]
    clear_cache()
    make("b")
    assert made[-2:] == ["b", "b"]
