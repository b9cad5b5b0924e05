"""The cache of answers."""

from __future__ import annotations

from attest_otel.judge.cache import AnswerCache


def test_the_least_recently_used_leaves_first() -> None:
    """By number of answers."""
    cache = AnswerCache(max_answers=2)
    cache.put(("a", "1", "m"), '{"v": 1}')
    cache.put(("b", "1", "m"), '{"v": 2}')
    assert cache.get(("a", "1", "m")) == {"v": 1}
    cache.put(("c", "1", "m"), '{"v": 3}')
    assert [cache.get((name, "1", "m")) for name in "abc"] == [{"v": 1}, None, {"v": 3}]


def test_it_is_bounded_by_size() -> None:
    """And by characters, replaced answers counted once."""
    cache = AnswerCache(max_chars=20)
    for _ in range(5):
        cache.put(("a", "1", "m"), '{"v": 10}')
    cache.put(("b", "1", "m"), '{"v": 20}')
    assert cache.get(("a", "1", "m")) == {"v": 10}
    cache.put(("c", "1", "m"), '{"v": 30}')
    assert [cache.get((name, "1", "m")) for name in "abc"] == [{"v": 10}, None, {"v": 30}]


def test_wording_and_model_are_part_of_the_key() -> None:
    """Another wording or another model is another question; a value is the caller's own."""
    cache = AnswerCache()
    cache.put(("a", "1", "m"), '{"v": 1}')
    assert cache.get(("a", "2", "m")) is None
    assert cache.get(("a", "1", "n")) is None
    first = cache.get(("a", "1", "m"))
    assert first is not None
    first["v"] = 7
    assert cache.get(("a", "1", "m")) == {"v": 1}
