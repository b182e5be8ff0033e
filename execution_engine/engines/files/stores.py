"""File systems of locations: this machine's disk, and object stores as ``ASSAY_STORES`` names them; and their errors.

Every request has a short time, so that a store that is away or refuses is told of within seconds.
"""

import os
import re
from collections.abc import Iterator
from datetime import timedelta
from functools import lru_cache
from pathlib import Path
from urllib.parse import urlsplit

from pyarrow import ArrowException
from pyarrow.fs import FileSelector, FileSystem, FileType, LocalFileSystem, SubTreeFileSystem

from assay.references import UnableToReadSecret
from assay.stores import SCHEMES, SECRETS, Store, is_store, read_only_fault, store_of
from execution_engine.outcome import Failure, Reason

CONNECT_SECONDS = 2.0
REQUEST_SECONDS = 4.0
TRIES = 2  # of each request
REGION = "us-east-1"  # where neither the store nor AWS_REGION names one
_PROBE = "_assay_probe/"  # a folder that nobody has: to list it costs one request, whose answer has a code


class UnableToOpenStore(ValueError):
    """No file system serves the location; the sentence says why."""


def is_read_here(location: str) -> bool:
    """Whether the kernels may open the location by ``open_file_system``: a path, or a place in a store."""
    return "://" not in location or location.startswith("file://") or is_store(location)


def open_file_system(location: str) -> tuple[FileSystem, str]:
    """The file system that serves a path or URL, and the path in it; raises UnableToOpenStore.

    Nothing is asked of a store yet: what it says comes with the first request, see ``store_failure``.
    """
    if "://" not in location:
        return LocalFileSystem(), str(Path(location).absolute())
    if not is_store(location):
        try:
            filesystem, path = FileSystem.from_uri(location)
        except (ArrowException, OSError, ValueError) as error:
            raise UnableToOpenStore(f"{location} names no file system that can be opened: {error}") from error
        return filesystem, path.rstrip("/")
    store = _store_for(location)
    secrets: tuple[str, ...] = ()
    try:
        secrets = tuple(store.secret(name) for name in SECRETS)
        place = location.partition("://")[2].rstrip("/")
        if store.scheme != "abfss":
            return _open(store, secrets), place
        host, _, path = place.partition("/")
        container, _, account = host.partition("@")
        return SubTreeFileSystem(container, _open_azure(store, secrets, account.partition(".")[0])), path
    except (ArrowException, OSError, ValueError) as error:
        why = str(error)
        if secrets and secrets[-1]:  # a proxy that is no URL is shown whole
            why = why.replace(secrets[-1], "its proxy")
        is_said = isinstance(error, UnableToReadSecret)
        raise UnableToOpenStore(why if is_said else f"{location} cannot be opened: {why}") from None


def open_to_write(location: str) -> tuple[FileSystem, str]:
    """What ``open_file_system`` opens, where Assay may write; raises UnableToOpenStore for a read-only store."""
    from assay.config import config

    if fault := read_only_fault(location, config().object_stores):
        raise UnableToOpenStore(fault)
    return open_file_system(location)


def _store_for(location: str) -> Store:
    """The operator's, or what the machine itself has keys of."""
    from assay.config import config  # with it pydantic, which files of this machine do not need

    scheme = SCHEMES[location.partition("://")[0]]
    endpoint = os.environ.get("AWS_ENDPOINT_URL", "") if scheme == "s3" else ""
    return store_of(location, config().object_stores) or Store(prefix=f"{scheme}://", endpoint=endpoint)


@lru_cache(maxsize=32)  # connections are kept; other keys, as where they were replaced, open another
def _open(store: Store, secrets: tuple[str, ...]) -> FileSystem:
    access_key, secret_key, session_token, proxy = secrets
    address = urlsplit(store.endpoint)
    if store.scheme == "s3":
        from pyarrow.fs import AwsStandardS3RetryStrategy, S3FileSystem  # not in every build of pyarrow

        return S3FileSystem(
            access_key=access_key or None,
            secret_key=secret_key or None,
            session_token=session_token or None,
            anonymous=store.anonymous,
            region=store.region or os.environ.get("AWS_REGION") or os.environ.get("AWS_DEFAULT_REGION") or REGION,
            endpoint_override=address.netloc or None,
            scheme=address.scheme or "https",
            force_virtual_addressing=not store.path_style,
            proxy_options=proxy or None,
            connect_timeout=CONNECT_SECONDS,
            request_timeout=REQUEST_SECONDS,
            retry_strategy=AwsStandardS3RetryStrategy(max_attempts=TRIES),
            allow_delayed_open=True,  # what is small is written by one request
        )
    from pyarrow.fs import GcsFileSystem

    return GcsFileSystem(
        anonymous=store.anonymous,
        endpoint_override=address.netloc or None,
        scheme=address.scheme or "https",
        retry_time_limit=timedelta(seconds=CONNECT_SECONDS),
    )


@lru_cache(maxsize=32)
def _open_azure(store: Store, secrets: tuple[str, ...], account: str) -> FileSystem:
    from pyarrow.fs import AzureFileSystem

    address = urlsplit(store.endpoint)
    endpoint = {
        **dict.fromkeys(("blob_storage_authority", "dfs_storage_authority"), address.netloc),
        **dict.fromkeys(("blob_storage_scheme", "dfs_storage_scheme"), address.scheme),
    }
    return AzureFileSystem(account, account_key=secrets[1] or None, **(endpoint if store.endpoint else {}))


# What is wrong with a store, by what it answers. The answer to HEAD has no body, and so no code: a listing has one.

_REGION = re.compile(r"configured region is '([\w-]+)' while the bucket is located in '([\w-]+)'")
_EXPECTED = re.compile(r"expecting '([\w-]+)'")
_KINDS = (
    ("away", r"NETWORK_CONNECTION|SLOW_DOWN|THROTTLING|INTERNAL_FAILURE|SERVICE_UNAVAILABLE|REQUEST_TIMEOUT|curlCode"),
    ("away", r"HTTP status (429|5\d\d)|ServiceUnavailable|InternalError|timed? ?out|Could not connect|UNAVAILABLE"),
    ("expired", r"ExpiredToken|EXPIRED_TOKEN|InvalidToken|TokenRefreshRequired"),
    ("skew", r"TIME_TOO_SKEWED|RequestTimeTooSkewed"),
    (
        "region",
        r"PermanentRedirect|TemporaryRedirect|AuthorizationHeaderMalformed|IllegalLocationConstraint|status 301",
    ),
    ("key", r"INVALID_ACCESS_KEY_ID|UNRECOGNIZED_CLIENT|INVALID_CLIENT_TOKEN_ID|MISSING_AUTHENTICATION_TOKEN"),
    ("secret", r"SIGNATURE_DOES_NOT_MATCH|INVALID_SIGNATURE|AuthenticationFailed"),
    ("denied", r"ACCESS_DENIED|HTTP status 40[13]|Forbidden|PERMISSION_DENIED|AuthorizationFailure|Unauthenticated"),
    ("bucket", r"NO_SUCH_BUCKET|ContainerNotFound"),
    ("key_missing", r"Path does not exist|No such file or directory|NO_SUCH_KEY|NotFound"),
)
_OWNERS = {"s3": "Amazon S3", "gs": "Google Cloud Storage", "abfss": "Azure"}
_SENTENCES = {
    "away": "{place} does not serve now ({code}): see that it runs and can be reached from here, and that its endpoint "
    "is right in ASSAY_STORES; it is tried again",
    "expired": "{place} says that the session has expired: renew the token of ASSAY_STORES, or that of the machine",
    "skew": "{place} refuses the time of this machine: run NTP (chrony) on both",
    "region": "{bucket} lies in another region than {region}{where}: write region: in ASSAY_STORES",
    "key": "{place} does not know the access key: correct what access_key refers to in ASSAY_STORES",
    "secret": "{place} refuses the secret key, which does not fit the access key: correct what secret_key refers to in "
    "ASSAY_STORES",
    "denied": "{place} does not let {who} {verb} {location}: let these keys list the bucket and {verb} its "
    "objects, or name others in ASSAY_STORES",
    "bucket": "{place} has no {bucket}: correct the location, or the endpoint in ASSAY_STORES",
    "key_missing": "{place} has nothing at {location}: correct the location",
}


def store_failure(location: str, error: Exception, verb: str = "read") -> Failure | None:
    """What an error of a file system says of the store that serves the location; None of one that is of no store.

    A code that the error lacks is asked for by one request more. The failure is transient where the store is away.
    ``verb`` is what was tried: to read or to write.
    """
    if not is_store(location) or not isinstance(error, OSError):
        return None
    kind, text = kind_of_error(str(error)), str(error)
    if kind not in ("away", "bucket", "secret", "key"):
        probed = probe(location)
        kind, text = kind_of_error(probed) or kind, f"{probed} {text}"
    if kind is None:
        return None
    reason = Reason.STORE_UNREACHABLE if kind == "away" else Reason.UNREADABLE
    return Failure(reason=reason, detail=_sentence(kind, location, text, verb))


def failure_in_tasks(location: str, text: str) -> Failure | None:
    """What an error means that a store gave to tasks, after this process had listed the location; None of a file's.

    What may have changed since, such as keys that expire, is transient.
    """
    kind = kind_of_error(text)
    if kind == "expired" or "HTTP status 400" in text:  # to HEAD a store does not say which
        place = _store_for(location).place
        detail = (
            f"{place} refused keys that have expired while its files were read; it is tried again with those of then"
        )
        return Failure(reason=Reason.STORE_UNREACHABLE, detail=detail)
    return None if kind in (None, "key_missing") else store_failure(location, OSError(text))


def fault_of(store: Store) -> str:
    """What is wrong with a store, found by asking for its prefix; empty where it answers."""
    try:
        filesystem, path = open_file_system(store.prefix)
        if not path:
            filesystem.get_file_info(FileSelector(""))
            return ""
        if filesystem.get_file_info(path.partition("/")[0]).type is FileType.NotFound:
            return _sentence("bucket", store.prefix, "")
        filesystem.get_file_info(FileSelector(f"{path}/{_PROBE}", allow_not_found=True))
    except UnableToOpenStore as error:
        return str(error)
    except (ArrowException, OSError) as error:
        failure = store_failure(store.prefix, error)
        return failure.detail if failure else f"{store.place} cannot be listed: {error}"
    return ""


def kind_of_error(text: str) -> str | None:
    """What kind of fault the text of an error tells, a key of the sentences; None where it tells none of them."""
    return next((kind for kind, pattern in _KINDS if re.search(pattern, text)), None)


def code_of_error(text: str) -> str:
    """What the store answered, in a few words that name no place."""
    own = re.search(r"HTTP status \d+", text) or re.search(r"AWS Error (\w+)", text)
    return own[own.lastindex or 0].replace("_", " ").lower().replace("http", "HTTP") if own else "no answer"


def probe(location: str) -> str:
    """What the store says of a folder that nobody has; nothing where it answers."""
    return " ".join(filter(None, _probe(location)))


def _probe(location: str) -> Iterator[str]:
    """What the store says where one lists a folder that nobody has, and where one looks at it: the region, perhaps."""
    for request in (lambda path: FileSelector(path, allow_not_found=False), str):
        try:
            filesystem, path = open_file_system(location)
            filesystem.get_file_info(request(f"{path}/{_PROBE}"))
        except (ArrowException, OSError, ValueError) as error:
            yield "" if isinstance(error, FileNotFoundError) else str(error)


def _sentence(kind: str, location: str, text: str, verb: str = "read") -> str:
    store = _store_for(location)
    bucket = location.partition("://")[2].partition("/")[0]
    is_named = bool(store.prefix.partition("://")[2] or store.endpoint)
    regions = _REGION.search(text)
    actual = regions[2] if regions else match[1] if (match := _EXPECTED.search(text)) else ""
    return _SENTENCES[kind].format(
        place=store.place if is_named else f"{_OWNERS[store.scheme]} (no store of ASSAY_STORES holds {location})",
        location=location,
        verb=verb,
        bucket=f"bucket {bucket}",
        region=store.region or (regions[1] if regions else REGION),
        where=f", in {actual}" if actual else "",
        who="these keys"
        if store.access_key
        else "nobody without keys"
        if store.anonymous
        else "the machine's own keys",
        code=code_of_error(text),
    )
