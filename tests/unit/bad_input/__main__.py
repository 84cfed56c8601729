"""Makes the tables of docs/bad-input.md anew."""

import asyncio

from tests.unit.bad_input.page import PAGE, rendered

PAGE.write_text(asyncio.run(rendered(PAGE.read_text())))
