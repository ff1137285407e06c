"""Who can reach the workers of a run: this machine alone, and only with the keys of the run."""

import socket
import ssl
import sys
import time
import urllib.request
from http.client import HTTPException

import psutil
import pytest
from distributed import Security

from commands import run

HANGS = "{datasets: [iris], label_frequencies: [0.5], learners: [hangs], seeds: [1, 2]}"
SECONDS_TO_TRY = 1.5


def listening(processes):
    """Addresses on which processes wait for others, by TCP or UDP, IPv4 or IPv6."""
    return {
        (one.laddr.ip, one.laddr.port)
        for process in processes
        for one in process.net_connections("inet")
        if one.status == psutil.CONN_LISTEN or one.type == socket.SOCK_DGRAM
    }


@pytest.fixture
def addresses(recoup, write_plan):
    """Addresses on which a local run listens while its two workers are busy."""
    driver = psutil.Process(recoup("bench", "run", write_plan(HANGS), "--workers", "2").pid)
    deadline = time.monotonic() + 60
    while True:
        below = driver.children(recursive=True)
        if sum("recoup.bench.worker" in " ".join(one.cmdline()) for one in below) == 2:
            return listening([driver, *below])
        assert time.monotonic() < deadline
        time.sleep(0.1)


def ports_that_answer(addresses, context=None):
    """Ports where a Dask node begins to talk, as it does with whoever may give it orders."""
    found = []
    for _, port in sorted(addresses):
        try:
            talk = socket.create_connection(("127.0.0.1", port), SECONDS_TO_TRY)
            with talk if context is None else context.wrap_socket(talk) as talk:
                found += [port] if talk.recv(1) else []
        except OSError:  # it stays silent, or breaks off
            continue
    return found


def web_pages(addresses):
    """What a browser gets to see of a run."""
    found = []
    for _, port in addresses:
        for page in ("/", "/info/main/workers.html", "/json/identity.json", "/metrics", "/status"):
            try:
                with urllib.request.urlopen(f"http://127.0.0.1:{port}{page}", timeout=1) as answer:
                    found.append((page, answer.status))
            except (OSError, HTTPException):
                continue
    return found


def test_a_local_run_listens_to_nobody_elsewhere_and_to_nobody_without_its_keys(addresses):
    # A scheduler, and two workers with a nanny each.
    assert len(addresses) >= 5
    assert {ip for ip, _ in addresses} == {"127.0.0.1"}
    assert ports_that_answer(addresses) == []
    stranger = Security.temporary().get_connection_args("client")["ssl_context"]
    # Whoever means harm does not ask whom they talk to.
    stranger.check_hostname, stranger.verify_mode = False, ssl.CERT_NONE
    assert ports_that_answer(addresses, stranger) == []
    assert web_pages(addresses) == []


def test_without_the_package_that_makes_keys_nothing_is_started(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "cryptography", None)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "plan.yaml").write_text("{datasets: [iris], learners: [naive]}")
    result = run("bench", "run", "plan.yaml")
    assert result.exit_code == 2
    assert result.stderr.count("\n") == 1
    assert "'cryptography'" in result.stderr
    assert "pip install 'recoup[cluster]'" in result.stderr
