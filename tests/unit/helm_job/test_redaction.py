"""What helm says, without what it quotes."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loadtest.adapters.helm_job.redaction import redact


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("", ""),
        ("Error: UPGRADE FAILED: timed out", "Error: UPGRADE FAILED: timed out"),
        ("coalesce.go: warning\nWARNING: file is readable\nError: no", "Error: no"),
        ("Error: first\nError: schema:\n- threads: wrong type\n", "Error: schema: - threads: wrong type"),
        (
            "Error: execution error at (a.yaml:3:7): hunter22 is weak",
            "Error: execution error at (a.yaml:3:7): (hidden) is weak",
        ),
        ('Error: cannot parse "7"', "Error: cannot parse (hidden)"),
        ("Error: line 7 of runner/templates/a.yaml", "Error: line 7 of runner/templates/a.yaml"),
        ('Error: Deployment "runner" is invalid', 'Error: Deployment "runner" is invalid'),
        (
            'Error: spec.replicas: Invalid value: -1: must be greater, spec.x: Invalid value: "a: b": no',
            "Error: spec.replicas: Invalid value: (hidden): must be greater, spec.x: Invalid value: (hidden): no",
        ),
        ("Error: https://me:pass@charts.test/a?sig=abc refused", "Error: https://charts.test/a refused"),
        ("Error: two\nlines secret", "Error: two (hidden)"),
        ("no error line\nbut output", "no error line but output"),
    ],
)
def test_helms_errors_are_shown_without_values(text: str, shown: str) -> None:
    assert redact(text, ["hunter22", "7", "runner", "lines\nsecret"], keep=["runner"]) == shown


def test_a_longer_value_is_hidden_before_the_shorter_one_inside_it() -> None:
    assert redact("Error: abcdefgh abcd", ["abcd", "abcdefgh"]) == "Error: (hidden) (hidden)"


def test_a_message_is_cut_to_600_characters() -> None:
    message = redact("Error: " + "x y " * 1000, [])
    assert len(message) == 600
    assert message.endswith("...")


@given(st.text(st.characters(categories=["L", "N"]), min_size=4), st.text(max_size=40), st.text(max_size=40))
def test_no_value_of_four_characters_is_ever_shown(value: str, before: str, after: str) -> None:
    assert value not in redact(f"Error: {before}{value}{after}", [value]).replace("(hidden)", "").replace("Error:", "")
