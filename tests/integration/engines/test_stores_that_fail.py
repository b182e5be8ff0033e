"""What a user is told of a store that refuses or is away: a sentence that says how to mend it, within ten seconds."""

from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Event, Thread
from time import monotonic, sleep
from typing import Any

import pytest

from assay.command_line.cli import run as run_command
from assay.command_line.exit_codes import ExitCode
from assay.config import config
from execution_engine import storage
from execution_engine.engines.child.engine import ChildEngine
from execution_engine.engines.files.footers import footer_statistics, spark_type_of
from execution_engine.engines.files.listing import UnableToListFiles, list_part
from execution_engine.engines.native.local_scan import pieces_of
from execution_engine.engines.native.reading import Stored, UnableToReadPiece, batches
from execution_engine.engines.protocol import WHOLE, Table
from execution_engine.outcome import Reason
from tests.fixture_types import Capture
from tests.integration.engines.stored import SECRET, put, settings, store, stores, write_trips

ERROR = '<?xml version="1.0"?><Error><Code>{}</Code><Message>No.</Message></Error>'


class Refusing(BaseHTTPRequestHandler):
    """Answers every request with one code of S3's, as Amazon does: to HEAD without its body."""

    status, code, silent = 403, "", Event()

    def answer(self) -> None:
        if self.silent.is_set():
            sleep(60)
        body = ERROR.format(self.code).encode()
        self.send_response(self.status)
        self.send_header("Content-Type", "application/xml")
        self.send_header("Content-Length", str(len(body)))
        if self.status in (301, 400):
            self.send_header("x-amz-bucket-region", "eu-central-1")
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    do_GET = do_HEAD = answer  # noqa: N815

    def log_message(self, format: str, *args: Any) -> None:
        """No word of it."""


@pytest.fixture
def refusing() -> Iterator[str]:
    """The endpoint of a store that refuses, to which the settings lead."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), Refusing)
    server.daemon_threads, server.block_on_close = True, False
    Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
    endpoint = f"http://127.0.0.1:{server.server_port}"
    with settings(ASSAY_STORES=stores(endpoint), LAKE_KEY="k", LAKE_SECRET=SECRET):
        yield endpoint
    Refusing.silent.clear()
    server.shutdown()


def failure_of(location: str) -> tuple[Reason, str]:
    """What is said of a folder, and that it is said in time."""
    started = monotonic()
    with pytest.raises(UnableToListFiles) as error:
        list_part(Table(name="trips", storage="parquet", location=location), WHOLE)
    assert monotonic() - started < 10
    return error.value.failure.reason, error.value.failure.detail


@pytest.mark.parametrize(
    ("status", "code", "sentence"),
    [
        (403, "InvalidAccessKeyId", "does not know the access key: correct what access_key refers to"),
        (403, "SignatureDoesNotMatch", "refuses the secret key, which does not fit the access key: correct"),
        (403, "AccessDenied", "does not let these keys read s3://lake/trips: let these keys list the bucket"),
        (403, "RequestTimeTooSkewed", "refuses the time of this machine: run NTP"),
        (400, "ExpiredToken", "says that the session has expired: renew the token"),
        (301, "PermanentRedirect", "bucket lake lies in another region than us-east-1, in eu-central-1: write region:"),
        (404, "NoSuchBucket", "has no bucket lake: correct the location, or the endpoint"),
        (503, "SlowDown", "does not serve now (slow down): see that it runs"),
        (500, "InternalError", "does not serve now (internal failure): see that it runs"),
    ],
)
def test_each_answer_of_a_store_is_a_sentence_that_says_how_to_mend_it(
    status: int, code: str, sentence: str, refusing: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Refusing, "status", status)
    monkeypatch.setattr(Refusing, "code", code)
    reason, detail = failure_of("s3://lake/trips")
    assert sentence in detail
    assert (reason is Reason.STORE_UNREACHABLE) is (status >= 500)
    assert SECRET not in detail


@pytest.mark.whole
def test_a_silent_store_is_told_of_within_seconds_and_tried_again(refusing: str) -> None:
    Refusing.silent.set()
    reason, detail = failure_of("s3://lake/trips")
    assert (reason, "does not serve now" in detail) == (Reason.STORE_UNREACHABLE, True)


def test_a_store_that_is_away_is_tried_again() -> None:
    with settings(ASSAY_STORES=stores("http://127.0.0.1:9"), LAKE_KEY="k", LAKE_SECRET=SECRET):
        reason, detail = failure_of("s3://lake/trips")
    assert (reason, "does not serve now (network connection)" in detail) == (Reason.STORE_UNREACHABLE, True)


def test_verify_says_what_is_wrong_with_a_store_without_java(
    refusing: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(Refusing, "code", "InvalidAccessKeyId")
    Path("checks.yaml").write_text("checks:\n  - is_unique: id\n")
    engine = ChildEngine()
    with storage.using(engine):
        assert run_command(["verify", "s3://lake/trips", "--checks", "checks.yaml", "--json"]) == ExitCode.UNABLE
    assert f"the store s3://lake at {refusing} does not know the access key" in capsys.readouterr().out
    assert engine.pid is None


def test_a_missing_secret_is_named() -> None:
    with settings(ASSAY_STORES=stores("http://127.0.0.1:9")):
        assert "takes its access_key from LAKE_KEY, which is not set" in failure_of("s3://lake/trips")[1]


def test_a_wrong_proxy_is_told_of_without_its_password() -> None:
    proxy = "http://ada:open-sesame@pro xy:no"
    named = stores("http://127.0.0.1:9", proxy="env:PROXY")
    with settings(ASSAY_STORES=named, LAKE_KEY="k", LAKE_SECRET=SECRET, PROXY=proxy):
        detail = failure_of("s3://lake/trips")[1]
    assert detail.startswith("s3://lake/trips cannot be opened: ")
    assert "open-sesame" not in detail


def test_in_a_store_that_answers_wrong_places_and_damaged_files_are_told_apart(tmp_path: Path) -> None:
    write_trips(tmp_path / "trips")
    damaged = tmp_path / "damaged.parquet"
    damaged.write_bytes(b"PAR1" + b"\0" * 40)
    with store() as owner:
        put(owner, tmp_path / "trips", "lake/trips")
        put(owner, damaged, "lake/damaged/a.parquet")
        _, nowhere = failure_of("s3://lake/nowhere")
        assert "has nothing at s3://lake/nowhere: correct the location" in nowhere
        with settings(ASSAY_STORES=stores(config().object_stores[0].endpoint, prefix="s3://")):
            assert "has no bucket sea: correct the location" in failure_of("s3://sea/trips")[1]
        table = Table(name="damaged", storage="parquet", location="s3://lake/damaged")
        with pytest.raises(UnableToListFiles, match=r"s3://lake/damaged/a.parquet .* cut or damaged"):
            footer_statistics(list_part(table, WHOLE))


def test_a_file_that_is_replaced_while_it_is_read_gives_no_value(tmp_path: Path) -> None:
    write_trips(tmp_path / "trips")
    file = tmp_path / "trips/day=2026-11-01/part-0.parquet"
    with store() as owner:
        put(owner, file, "lake/trips/part-0.parquet")
        listing = list_part(Table(name="trips", storage="parquet", location="s3://lake/trips"), WHOLE)
        footers = footer_statistics(listing)
        assert footers is not None
        ((piece, _),) = pieces_of(listing, footers)
        type_ = listing.schema.field("fare").type
        rows = batches(piece, {"fare": Stored(spark=str(spark_type_of(type_)), arrow=type_)})
        next(rows)
        file.write_bytes(file.read_bytes() + b"more")
        put(owner, file, "lake/trips/part-0.parquet")
        with pytest.raises(UnableToReadPiece, match="replaced while it was read"):
            list(rows)
