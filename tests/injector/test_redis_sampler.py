"""The sampler against a real redis-server."""

from __future__ import annotations

import ssl
import time
from ipaddress import IPv4Address
from pathlib import Path
from typing import Any

import pytest
import redis
from cryptography import x509

from loadtest_injector.measure.redis import FIELDS, RedisSampler, values_of
from loadtest_injector.measure.series import Missed
from loadtest_injector.measure.sources import RedisSource
from tests.injector.redis_server import redis_server, secret
from tests.injector.rig import free_port
from tests.injector.test_http_tls import certificate

PASSWORD = "correct horse"  # noqa: S105


def source(port: int, **changes: Any) -> RedisSource:
    given = {"username": None, "password": False, "tls": False, "ca": False} | changes
    return RedisSource("redis", "127.0.0.1", port, **given)


def sampled(sampler: RedisSampler) -> dict[str, int]:
    return dict(zip(FIELDS, sampler.sample(), strict=True))


def missed(sampler: RedisSampler) -> str:
    with pytest.raises(Missed) as caught:
        sampler.sample()
    sampler.close()
    return caught.value.reason


def test_connections_are_those_of_others(tmp_path: Path) -> None:
    with redis_server() as port:
        sampler = RedisSampler(source(port), tmp_path / "redis")
        assert sampled(sampler)["connections"] == 0
        others = [redis.Redis(port=port) for _ in range(5)]
        for other in others:
            other.ping()
        assert sampled(sampler)["connections"] == 5
        for other in others:
            other.close()
        sampler.close()


def test_counters_are_the_servers_own(tmp_path: Path) -> None:
    with redis_server("--maxmemory", "3mb", "--maxmemory-policy", "allkeys-lru") as port, redis.Redis(port=port) as one:
        sampler = RedisSampler(source(port), tmp_path / "redis")
        before = sampled(sampler)
        for number in range(300):
            one.set(f"key-{number}", b"x" * 16_384)
        after = sampled(sampler)
        # Each INFO counts as a command once it is answered: the first one is in the difference.
        assert after["commands"] - before["commands"] >= 301
        assert after["evictedKeys"] - before["evictedKeys"] == one.info()["evicted_keys"] > 0
        assert after["cpuMicros"] > before["cpuMicros"]
        assert 2**20 < after["memoryBytes"] < 4 * 2**20
        assert after["instance"] == before["instance"] == 0
        sampler.close()


def test_a_server_that_came_back_is_another_instance(tmp_path: Path) -> None:
    port = free_port()
    sampler = RedisSampler(source(port), tmp_path / "redis")
    with redis_server(port=port):
        assert sampled(sampler)["instance"] == 0
    with pytest.raises(Missed, match="Redis at 127"):
        sampler.sample()
    with redis_server(port=port):
        assert sampled(sampler)["instance"] == 1
    sampler.close()


def test_a_password_is_read_from_its_file_and_a_users_right_to_info_is_enough(tmp_path: Path) -> None:
    with redis_server("--requirepass", PASSWORD) as port:
        assert missed(RedisSampler(source(port), tmp_path / "redis")) == "Unauthorized"
        assert missed(RedisSampler(source(port, password=True), tmp_path / "redis")) == "SecretMissing"
        secret(tmp_path, "redis", "password", "wrong")
        assert missed(RedisSampler(source(port, password=True), tmp_path / "redis")) == "Unauthorized"
        secret(tmp_path, "redis", "password", PASSWORD + "\n")
        sampler = RedisSampler(source(port, password=True), tmp_path / "redis")
        assert sampled(sampler)["connections"] == 0
        sampler.close()
        with redis.Redis(port=port, password=PASSWORD) as admin:
            admin.acl_setuser("watcher", enabled=True, passwords=["+see"], commands=["+info"])
            admin.acl_setuser("nobody", enabled=True, passwords=["+see"])
        secret(tmp_path, "redis", "password", "see")
        sampler = RedisSampler(source(port, username="watcher", password=True), tmp_path / "redis")
        assert sampled(sampler)["instance"] == 0
        sampler.close()
        nobody = RedisSampler(source(port, username="nobody", password=True), tmp_path / "redis")
        assert missed(nobody) == "Unauthorized"


def test_tls_is_verified_by_the_given_authority_and_by_no_other(tmp_path: Path) -> None:
    file = certificate(tmp_path / "redis.pem", [x509.IPAddress(IPv4Address("127.0.0.1"))])
    port = free_port()
    tls = ["--tls-port", str(port), "--tls-auth-clients", "no"]
    for option in ("--tls-cert-file", "--tls-key-file", "--tls-ca-cert-file"):
        tls += [option, str(file)]
    with redis_server(*tls):
        secret(tmp_path, "redis", "ca.crt", ssl.DER_cert_to_PEM_cert(ssl.PEM_cert_to_DER_cert(_only(file))))
        sampler = RedisSampler(source(port, tls=True, ca=True), tmp_path / "redis")
        assert sampled(sampler)["connections"] == 0
        sampler.close()
        assert missed(RedisSampler(source(port, tls=True), tmp_path / "redis")) == "SourceUnavailable"
        assert missed(RedisSampler(source(port), tmp_path / "redis")) == "SourceUnavailable"


def _only(file: Path) -> str:
    text = file.read_text()
    return text[text.index("-----BEGIN CERTIFICATE") :]


def test_a_server_that_does_not_answer_costs_less_than_two_intervals(tmp_path: Path) -> None:
    begun = time.monotonic()
    assert missed(RedisSampler(source(free_port()), tmp_path / "redis")) == "SourceUnavailable"
    assert time.monotonic() - begun < 10


def test_an_answer_without_a_counter_is_no_point() -> None:
    with pytest.raises(KeyError, match="connected_clients"):
        values_of({"run_id": "a"}, [])
