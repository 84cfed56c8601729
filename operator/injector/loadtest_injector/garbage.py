"""Keeps Python's search for garbage in cycles out of what is measured.

A search holds up everybody: with 6,000 users for 0.1 to 0.2 s where it looks at all objects, for 10 to 20 ms where it
looks at the new ones. Users that were held up together go on asking together, because they wait whole seconds. And it
finds next to nothing: requests, failed ones too, leave no garbage in cycles. So there is a search before the users of
an attempt are started, none until all run, and then one for each `NEW_OBJECTS` more than there were.
"""

from __future__ import annotations

import gc

NEW_OBJECTS = 200_000
"""What may lie about unsearched: some 50 MB at most."""

_USUAL = gc.get_threshold()


def hold() -> None:
    """Search once, before there are users, and no more until `settle` or `release`."""
    gc.collect()
    gc.disable()


def settle() -> None:
    """All users run: from now on search seldom, and only among what is new."""
    gc.freeze()
    gc.set_threshold(NEW_OBJECTS, *_USUAL[1:])
    gc.enable()


def release() -> None:
    """Search as Python does when it is left alone."""
    gc.unfreeze()
    gc.set_threshold(*_USUAL)
    gc.enable()
