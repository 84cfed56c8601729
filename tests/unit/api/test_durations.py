import pytest
from hypothesis import given
from hypothesis import strategies as st

from loadtest.api.durations import Duration, format_duration, parse_duration, parse_millis


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("0s", 0),
        ("20m", 1200),
        ("90s", 90),
        ("1h30m", 5400),
        ("500ms", 0.5),
        ("5ms", 0.005),
        ("1h2m3s4ms", 3723.004),
        ("168h", 604_800),
        ("007s", 7),
    ],
)
def test_a_duration_is_read_in_seconds(text: str, seconds: float):
    assert parse_duration(text) == seconds
    assert Duration(text).seconds == seconds


@pytest.mark.parametrize(
    "text", ["", "20", "-1m", "+1m", "1.5h", "1d", "1m 1s", "1s1m", "1us", "m", "1m\n", "\u0661m", "NaN"]
)
def test_what_is_no_duration_is_refused_with_the_remedy(text: str):
    with pytest.raises(ValueError, match="write it such as 20m, 90s or 1h30m"):
        parse_duration(text)
    with pytest.raises(ValueError, match="is not a duration"):
        Duration(text)


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0, "0s"), (1200, "20m"), (90, "1m30s"), (5400, "1h30m"), (0.5, "500ms"), (86_400, "24h"), (3600.001, "1h1ms")],
)
def test_seconds_are_written_in_the_largest_units(seconds: float, text: str):
    assert format_duration(seconds) == text


def test_a_negative_duration_cannot_be_written():
    with pytest.raises(ValueError, match="negative"):
        format_duration(-1)


@given(st.integers(min_value=0, max_value=999_999 * 3_600_000))
def test_what_is_written_is_read_as_the_same_milliseconds(millis: int):
    assert parse_millis(format_duration(millis / 1000)) == millis


@given(st.integers(0, 999_999), st.integers(0, 999_999), st.integers(0, 999_999_999), st.integers(0, 999_999_999))
def test_units_add_up(hours: int, minutes: int, seconds: int, millis: int):
    text = f"{hours}h{minutes}m{seconds}s{millis}ms"
    assert Duration(text).millis == ((hours * 60 + minutes) * 60 + seconds) * 1000 + millis


@given(st.text(max_size=12))
def test_any_text_is_either_read_or_refused(text: str):
    try:
        seconds = parse_duration(text)
    except ValueError:
        return
    assert parse_duration(format_duration(seconds)) == seconds
