"""Starts Jaeger, Prometheus and the Collector with this repository's own configuration, on free loopback ports.

`running_stack` is a context manager: inside it everything answers its health check; after it, the processes that it
started have ended. Their output is kept in files and quoted when something goes wrong.
"""

from __future__ import annotations

import os
import socket
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

import yaml

from tests.e2e import parts
from tests.e2e.loopback import answers

HOST = "127.0.0.1"
PORT_NAMES = (
    "collector_grpc",
    "collector_http",
    "collector_health",
    "collector_metrics",
    "jaeger_otlp",
    "jaeger_query_http",
    "jaeger_query_grpc",
    "jaeger_health",
    "prometheus",
)
READY_TIMEOUT_SECONDS = 60.0
STOP_TIMEOUT_SECONDS = 15.0
PORT_TRIES = 3
LOG_TAIL_LINES = 40


class StackError(Exception):
    """A process did not start; the text holds the end of its log."""


class PortTakenError(StackError):
    """Somebody took a port between our choosing and the process's binding it."""


@dataclass(frozen=True, slots=True)
class Stack:
    """The addresses of a running stack, and the folder with the logs of its processes."""

    otlp_grpc_endpoint: str
    otlp_http_endpoint: str
    jaeger_query_url: str
    prometheus_url: str
    collector_metrics_url: str
    events_file: Path
    directory: Path

    def logs(self) -> str:
        """The last lines that each process wrote, for a failure's message."""
        return "\n".join(f"--- {path.name}\n{tail(path)}" for path in sorted(self.directory.glob("*.log")))


@dataclass(frozen=True, slots=True)
class Service:
    """A process to start: its command, what it reads from the environment, and where it says that it is ready."""

    name: str
    command: Sequence[str]
    environment: Mapping[str, str]
    ready_url: str


@contextmanager
def running_stack(directory: Path) -> Iterator[Stack]:
    """Runs the three processes, with their data and logs under `directory`.

    Raises:
        StackError: one of them did not become ready in time.
    """
    with ExitStack() as processes:
        yield _start_with_free_ports(directory, processes)


def tail(path: Path) -> str:
    """The last lines of a log file."""
    lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
    return "\n".join(lines[-LOG_TAIL_LINES:])


def free_ports(count: int) -> list[int]:
    """Distinct ports that were free a moment ago."""
    with ExitStack() as sockets:
        bound = [sockets.enter_context(socket.create_server((HOST, 0))) for _ in range(count)]
        return [each.getsockname()[1] for each in bound]


def _start_with_free_ports(directory: Path, processes: ExitStack) -> Stack:
    for attempt in range(1, PORT_TRIES + 1):
        home = directory / f"try-{attempt}"
        home.mkdir()
        ports = dict(zip(PORT_NAMES, free_ports(len(PORT_NAMES)), strict=True))
        with ExitStack() as started:
            try:
                _start_all(services(ports, home), home, started)
            except PortTakenError:
                if attempt == PORT_TRIES:
                    raise
                continue
            processes.push(started.pop_all())
            return _stack(ports, home)
    raise AssertionError("unreachable: the last try returns or raises")


def services(ports: Mapping[str, int], home: Path) -> list[Service]:
    """The three processes as they are started, in order."""
    at = {name: f"{HOST}:{port}" for name, port in ports.items()}
    return [_jaeger(at), _prometheus(at, home), _collector(at, home)]


def _jaeger(at: Mapping[str, str]) -> Service:
    return Service(
        name="jaeger",
        command=[_program(parts.JAEGER, "jaeger"), "--config", str(parts.CONFIG / "jaeger.yaml")],
        environment={
            "ATTEST_JAEGER_OTLP": at["jaeger_otlp"],
            "ATTEST_JAEGER_QUERY_HTTP": at["jaeger_query_http"],
            "ATTEST_JAEGER_QUERY_GRPC": at["jaeger_query_grpc"],
            "ATTEST_JAEGER_HEALTH": at["jaeger_health"],
        },
        ready_url=f"http://{at['jaeger_health']}/status",
    )


def _prometheus(at: Mapping[str, str], home: Path) -> Service:
    config = home / "prometheus.yml"
    config.write_text(prometheus_config(at["collector_metrics"]), encoding="utf-8")
    return Service(
        name="prometheus",
        command=[
            _program(parts.PROMETHEUS, "prometheus"),
            f"--config.file={config}",
            f"--storage.tsdb.path={home / 'tsdb'}",
            f"--web.listen-address={at['prometheus']}",
            "--web.enable-remote-write-receiver",
        ],
        environment={},
        ready_url=f"http://{at['prometheus']}/-/ready",
    )


def _collector(at: Mapping[str, str], home: Path) -> Service:
    host, port = at["collector_metrics"].split(":")
    return Service(
        name="collector",
        command=[
            _program(parts.COLLECTOR, "attest-otelcol"),
            "--config",
            str(parts.CONFIG / "collector.yaml"),
        ],
        environment={
            "ATTEST_COLLECTOR_OTLP_GRPC": at["collector_grpc"],
            "ATTEST_COLLECTOR_OTLP_HTTP": at["collector_http"],
            "ATTEST_COLLECTOR_HEALTH": at["collector_health"],
            "ATTEST_COLLECTOR_METRICS_HOST": host,
            "ATTEST_COLLECTOR_METRICS_PORT": port,
            "ATTEST_JAEGER_OTLP": at["jaeger_otlp"],
            "ATTEST_PROMETHEUS_URL": f"http://{at['prometheus']}",
            "ATTEST_EVENTS_FILE": str(_events_file(home)),
        },
        ready_url=f"http://{at['collector_health']}/",
    )


def prometheus_config(collector_metrics: str) -> str:
    """The repository's prometheus.yml with the address it names replaced, since Prometheus reads no environment."""
    config = yaml.safe_load((parts.CONFIG / "prometheus.yml").read_text(encoding="utf-8"))
    (job,) = config["scrape_configs"]
    job["static_configs"] = [{"targets": [collector_metrics]}]
    # Tests do not want to wait for the first scrape.
    config["global"]["scrape_interval"] = "1s"
    return yaml.safe_dump(config)


def _stack(ports: Mapping[str, int], home: Path) -> Stack:
    def url(name: str) -> str:
        return f"http://{HOST}:{ports[name]}"

    return Stack(
        otlp_grpc_endpoint=url("collector_grpc"),
        otlp_http_endpoint=url("collector_http"),
        jaeger_query_url=url("jaeger_query_http"),
        prometheus_url=url("prometheus"),
        collector_metrics_url=url("collector_metrics"),
        events_file=_events_file(home),
        directory=home,
    )


def _events_file(home: Path) -> Path:
    return home / "events.jsonl"


def _program(part: parts.Part, binary: str) -> str:
    return str(parts.folder(part) / binary)


def _start_all(wanted: Sequence[Service], home: Path, processes: ExitStack) -> None:
    started = [(service, processes.enter_context(_process(service, home))) for service in wanted]
    deadline = time.monotonic() + READY_TIMEOUT_SECONDS
    for service, process in started:
        _wait_until_ready(service, process, home, deadline)


@contextmanager
def _process(service: Service, home: Path) -> Iterator[subprocess.Popen[bytes]]:
    """Starts one process with a bare environment, so that no OTEL_* variable of the caller steers it."""
    environment = {"PATH": os.defpath, "HOME": str(home), **service.environment}
    with (
        _log(service, home).open("wb") as log,
        subprocess.Popen(service.command, cwd=home, env=environment, stdin=subprocess.DEVNULL, stdout=log, stderr=log) as process,
    ):
        try:
            yield process
        finally:
            _stop(process)


def _stop(process: subprocess.Popen[bytes]) -> None:
    process.terminate()
    try:
        process.wait(timeout=STOP_TIMEOUT_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()


def _wait_until_ready(service: Service, process: subprocess.Popen[bytes], home: Path, deadline: float) -> None:
    while not answers(service.ready_url):
        log = _log(service, home)
        if process.poll() is not None:
            kind = PortTakenError if b"address already in use" in log.read_bytes() else StackError
            raise kind(f"{service.name} exited with {process.returncode}:\n{tail(log)}")
        if time.monotonic() > deadline:
            raise StackError(f"{service.name}: {service.ready_url} was not ready in time:\n{tail(log)}")
        time.sleep(0.1)


def _log(service: Service, home: Path) -> Path:
    return home / f"{service.name}.log"
