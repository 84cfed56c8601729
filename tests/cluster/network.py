"""Addresses, bridges, routes and the fence around the cluster: nothing of it leaves this machine.

Two bridges: the node's, which carries the address of API server, kubelet and DNS and where the Service range is routed
to, and the pods', which the CNI plugin puts the pods on. Both routes are there before anything starts, so a packet
that no rule rewrites dies on a bridge; what is forwarded from or to pods over any other interface is dropped.
"""

import subprocess
from collections.abc import Iterable
from ipaddress import IPv4Network
from pathlib import Path

from tests.cluster.log import ClusterError
from tests.cluster.paths import write_atomically

NODE_ADDRESS = "10.213.0.1"
POD_RANGE = "10.213.64.0/22"
POD_GATEWAY = "10.213.64.1"
SERVICE_RANGE = "10.213.128.0/22"
KUBERNETES_SERVICE = "10.213.128.1"
ALL = IPv4Network("10.213.0.0/16")

NODE_BRIDGE = "ltnode0"
POD_BRIDGE = "ltpods0"
_FENCE = "LOADTEST-FENCE"
_CHAINS = ("KUBE-", _FENCE)
_FORWARD = Path("/proc/sys/net/ipv4/ip_forward")
_BRIDGE_CALLS = Path("/proc/sys/net/bridge/bridge-nf-call-iptables")


def set_up(state: Path) -> None:
    """Makes bridges, routes and fence; `state` keeps what the machine's switches were before."""
    _refuse_taken_addresses()
    _ip("link", "add", NODE_BRIDGE, "type", "bridge")
    _ip("address", "add", f"{NODE_ADDRESS}/32", "dev", NODE_BRIDGE)
    _ip("link", "set", NODE_BRIDGE, "up")
    _ip("route", "add", SERVICE_RANGE, "dev", NODE_BRIDGE, "src", NODE_ADDRESS)
    _ip("link", "add", POD_BRIDGE, "type", "bridge")
    # A bridge takes the lowest address of its ports and would change it with each pod: the ARP entries of the pods
    # would be wrong for a while. A fixed one stays.
    _ip("link", "set", POD_BRIDGE, "address", "0a:58:0a:d5:40:01")
    _ip("address", "add", f"{POD_GATEWAY}/{IPv4Network(POD_RANGE).prefixlen}", "dev", POD_BRIDGE)
    _ip("link", "set", POD_BRIDGE, "up")
    _iptables("-N", _FENCE)
    _iptables("-A", _FENCE, "-s", POD_RANGE, "!", "-o", POD_BRIDGE, "-j", "DROP")
    _iptables("-A", _FENCE, "-d", POD_RANGE, "!", "-i", POD_BRIDGE, "-j", "DROP")
    _iptables("-I", "FORWARD", "1", "-j", _FENCE)
    for switch in (_FORWARD, _BRIDGE_CALLS):
        if not switch.exists():
            subprocess.run(["modprobe", "br_netfilter"], capture_output=True, check=False)
        if not switch.exists():
            raise ClusterError(f"the kernel has no {switch}: Services cannot work without it")
        write_atomically(state / switch.name, switch.read_text())
        switch.write_text("1")


def whole() -> bool:
    """Whether both bridges and the fence are there."""
    fence = _run(["iptables", "-w", "-C", "FORWARD", "-j", _FENCE])
    return fence.returncode == 0 and {NODE_BRIDGE, POD_BRIDGE} <= set(_links())


def take_down(state: Path) -> None:
    """Removes bridges (their routes go with them), pod interfaces, all chains of kube-proxy and the fence."""
    for name in _interfaces():
        _run(["ip", "link", "delete", name])
    for family in ("iptables", "ip6tables"):
        _remove_chains(family)
    for switch in (_FORWARD, _BRIDGE_CALLS):
        kept = state / switch.name
        if kept.exists() and switch.exists():
            switch.write_text(kept.read_text())
    _run(["conntrack", "-D", "-s", str(ALL)])
    _run(["conntrack", "-D", "-d", str(ALL)])


def without_chains(rules: str, prefixes: Iterable[str] = _CHAINS) -> str:
    """The text of `iptables-save` without the chains of these prefixes and without the rules in or into them."""
    kept = []
    for line in rules.splitlines():
        words = line.split()
        chain = words[0][1:] if line.startswith(":") else words[1] if line.startswith("-A") else ""
        into = words[words.index("-j") + 1] if "-j" in words[:-1] else ""
        if not any(name.startswith(prefix) for name in (chain, into) for prefix in prefixes):
            kept.append(line)
    return "\n".join(kept) + "\n"


def _interfaces() -> list[str]:
    """The host ends of pods that a killed run left on the pod bridge, and our bridges."""
    bridges = [name for name in (NODE_BRIDGE, POD_BRIDGE) if name in _links()]
    return [*(_links("master", POD_BRIDGE) if POD_BRIDGE in bridges else []), *bridges]


def _links(*selection: str) -> list[str]:
    """Names of network interfaces; the other end, which `ip` writes after an @, is cut off."""
    shown = _run(["ip", "-oneline", "link", "show", *selection]).stdout.splitlines()
    return [line.split()[1].rstrip(":").partition("@")[0] for line in shown]


def _remove_chains(family: str) -> None:
    saved = _run([f"{family}-save"])
    if saved.returncode or not any(f":{prefix}" in saved.stdout for prefix in _CHAINS):
        return
    cleaned = without_chains(saved.stdout)
    restored = _run([f"{family}-restore"], text=cleaned)
    if restored.returncode:
        raise ClusterError(f"{family}-restore failed: {restored.stderr.strip()}")


def _refuse_taken_addresses() -> None:
    for line in _run(["ip", "-4", "route", "show"]).stdout.splitlines():
        words = line.split()
        target = words[0] if words and words[0][0].isdigit() else ""
        if target and IPv4Network(target, strict=False).overlaps(ALL):
            raise ClusterError(f"the route `{line.strip()}` overlaps {ALL}, which the cluster takes for itself")


def _ip(*arguments: str) -> None:
    done = _run(["ip", *arguments])
    if done.returncode:
        raise ClusterError(f"ip {' '.join(arguments)}: {done.stderr.strip()}")


def _iptables(*arguments: str) -> None:
    done = _run(["iptables", "-w", *arguments])
    if done.returncode:
        raise ClusterError(f"iptables {' '.join(arguments)}: {done.stderr.strip()}")


def _run(command: list[str], text: str | None = None) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(command, input=text, capture_output=True, text=True, check=False)
