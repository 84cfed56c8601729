"""What is asked of the server in each case, the same for every tool."""

from dataclasses import dataclass

TOOLS = ("ours", "fasthttpuser", "k6", "wrk")
CEILING = "ceiling"
"""wrk once more for the pair, with requests made beforehand and answers unread; a page alone is that anyway."""

CONNECTIONS = 100
FORM = {"first-name": "Joe", "middle-names": "", "last-name": "Bloggs"}


@dataclass(frozen=True)
class Case:
    """One kind of load: `path` is fetched, and where it is a pair its form is sent back with what the page gave."""

    name: str
    title: str
    path: str
    pair: bool
    tls: bool
    wanted: dict[str, float]
    """What ours is to reach at least, as a multiple of each other tool."""

    @property
    def tools(self) -> tuple[str, ...]:
        """Who is measured in this case."""
        return (*TOOLS, CEILING) if self.pair else TOOLS


CASES = {
    case.name: case
    for case in (
        Case("tiny", "tiny page", "/tiny", False, False, {"fasthttpuser": 4.0, "k6": 1.8, "wrk": 0.2}),
        Case("journey", "journey pair", "/page", True, False, {"fasthttpuser": 4.0, "k6": 1.6, "wrk": 0.3}),
        Case("page25k", "25 kB page", "/page25k", False, False, {}),
        Case("tls", "journey pair, TLS", "/page", True, True, {"fasthttpuser": 3.0}),
    )
}
