"""Sources read by themselves: the catalog files and the providers, each when it is due, written whole or not at all."""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import replace
from datetime import datetime, timedelta
from functools import partial
from typing import Any

from django.db import transaction

from assay import clock
from assay.accounts import RequestOrigin, record
from assay.catalog.dataset_rows import merged_by_key, stored_tellings, write_datasets
from assay.catalog.services import (
    MOST_GONE_OF_PROVIDER,
    Applied,
    UnableToApply,
    UnableToRemove,
    apply_telling,
    fault_of_table,
    mark_changed,
)
from assay.catalog.tellings import FIELDS, SourceTelling, TableTelling, UnableToReadSource, fields_from_json
from assay.catalog.yaml.provider import UnableToReadCatalog
from assay.config import config
from assay.database.name_keys import name_key
from assay.models import Dataset, Pull, Source
from assay.provider_entries import ProviderEntry
from assay.queue.claims import attempt, claim, finish
from assay.queue.flow import stage
from assay.scheduler.beat import cadences
from assay.time.durations import next_time
from execution_engine.providers import read_provider

from .data_tests import UnableToWrite
from .sync import Planned, plan_of, sync_files, write_tests

# What a provider tells, written: what is wrong with one table or test leaves that out and no other.

SHOWN = 5  # names in a sentence


@transaction.atomic
def sync_telling(
    telling: SourceTelling, provider: ProviderEntry, *, allow_removal: bool = False, now: datetime
) -> tuple[Applied, tuple[str, ...]]:
    """Write all that a provider tells; what changed, and a sentence for all of it that cannot be used.

    Raises UnableToApply where nothing can be written, as where too much would go at once.
    """
    redefaulted = _claim_source(provider, now)
    tables, of_tables = _writable(telling, provider.name)
    if not tables and not allow_removal and (count := len(stored_tellings(provider.name))):
        raise UnableToRemove(f"{provider.name!r} tells of no table, and told of {count}; if meant, say --allow-removal")
    applied = apply_telling(
        replace(telling, tables=tables),
        source=provider.name,
        full=True,
        allow_removal=allow_removal,
        most_gone=MOST_GONE_OF_PROVIDER,
        now=now,
    )
    datasets = set(Dataset.objects.filter(missing_since__isnull=True).values_list("name_key", flat=True))
    tests = [test for test in telling.custom if name_key(test.dataset) in datasets]
    of_tests = write_tests(tests, source=provider.name, full=True, now=now)
    names = {key: table.full_name for table in tables if (key := name_key(table.full_name)) not in datasets}
    lacking = _lacking_sentences(names)
    changed = dict.fromkeys([*redefaulted, *applied.changed])
    return replace(applied, changed=tuple(changed)), (*telling.notes, *of_tables, *lacking, *of_tests)


def _writable(telling: SourceTelling, source: str) -> tuple[tuple[TableTelling, ...], list[str]]:
    """The tables that can be written, and why others cannot: what was told of these before stays."""
    stored = stored_tellings(source)
    written, faults, names = [], [], list(telling.unread)
    for table in telling.tables:
        if (fault := fault_of_table(table, source=source)) is None:
            written.append(table)
            continue
        faults.append(f"{table.full_name}: {fault}")
        names.append(table.full_name)
    rows = (stored.get(name_key(name)) for name in names)
    written += [fields_from_json(row.namespace, row.name, row.fields) for row in rows if row]
    return tuple(written), faults


def _lacking_sentences(names_by_key: Mapping[str, str]) -> list[str]:
    """What is missing in the tables that are no datasets yet, a sentence for all that lack the same."""
    names = defaultdict[tuple[str, ...], list[str]](list)
    for key, merged in merged_by_key(names_by_key).items():
        names[merged.lacking].append(names_by_key[key])
    return [
        f"{', '.join(sorted(group)[:SHOWN])}{f' and {len(group) - SHOWN} more' if len(group) > SHOWN else ''}: "
        f"no source says {' and '.join(WORDS[field] for field in fields)}, so no dataset is made"
        for fields, group in names.items()
        if fields
    ]


WORDS = {
    "owner": "an owner (write defaults: {owner: …} in the entry)",
    "tier": "a tier (write defaults: {tier: 4} in the entry)",
    "replicas": "where the table lies (write location: in the entry)",
}


def _claim_source(provider: ProviderEntry, now: datetime) -> tuple[str, ...]:
    """Make the provider's row of sources; the datasets that new defaults have changed, as these hold for all."""
    defaults = {name: value for name, value in provider.defaults.items() if name in FIELDS}
    values = {"kind": provider.kind, "defaults": defaults}
    row, is_new = Source.objects.get_or_create(name=provider.name, defaults=values)
    if not row.kind:
        raise UnableToApply(f"the source {row} is one of catalog files: give the provider another name")
    if is_new or (row.kind, row.defaults) == (provider.kind, defaults):
        return ()
    Source.objects.filter(pk=row.pk).update(**values)
    datasets = write_datasets(stored_tellings(provider.name), now=now)
    changed = (*datasets.created, *datasets.changed, *datasets.missing)
    mark_changed(set(changed), now)
    return changed


def provider_named(name: str, source: str = "") -> ProviderEntry:
    """The provider of this name, which no other ``source`` may name; raises UnableToReadSource."""
    if source:
        raise UnableToReadSource(f"the provider {name} is the source {name}: leave out --source")
    providers = {provider.name: provider for provider in config().provider_list}
    if name in providers:
        return providers[name]
    listed = f"there are {', '.join(providers)}" if providers else "it lists none"
    raise UnableToReadSource(f"ASSAY_PROVIDERS lists no provider {name!r}: {listed}")


def plan_telling(telling: SourceTelling, provider: ProviderEntry, *, now: datetime) -> Planned:
    """What ``sync_telling`` would do; raises what it raises, and keeps nothing."""

    left_out: list[str] = []

    def write() -> tuple[str, Applied]:
        applied, sentences = sync_telling(telling, provider, allow_removal=True, now=now)
        left_out.extend(sentences)
        return provider.name, applied

    return replace(plan_of(write, most_gone=MOST_GONE_OF_PROVIDER, now=now), left_out=tuple(left_out))


# The stage *pull*: the same as the commands do; what is refused leaves the catalog as it was.

ORIGIN = RequestOrigin(actor="assay", via="pull")
LEASE = timedelta(minutes=15)  # a large catalog takes longer than a row of other stages
RETRY = timedelta(hours=1)  # at most, until a source that fails is read again
NEWS = ("created", "changed", "missing", "templates", "bindings")


def pull_due() -> int:
    """Read the sources that are due; how many were read."""
    now = clock.now()
    rows = claim(stage("pull"), now=now, limit=1, lease=LEASE)
    for row in rows:
        answer = _answer(row)  # outside of a transaction, as it may take minutes
        attempt("pull", row, now, partial(pull, answer=answer))
    return len(rows)


def _answer(row: Pull) -> SourceTelling | UnableToReadSource | None:
    """What the provider of a row tells now, or why it does not; None for catalog files."""
    if not row.name or row.name not in cadences():
        return None
    try:
        return read_provider(provider_named(row.name))
    except UnableToReadSource as unable:
        return unable


def pull(row: Pull, now: datetime, answer: SourceTelling | UnableToReadSource | None = None) -> None:
    """Write what a source tells and note what came of it; ends the stage ``pull``."""
    if (cadence := cadences().get(row.name)) is None:  # the settings have changed since the row was made
        row.delete()
        return
    again = next_time(cadence, now)
    try:
        with transaction.atomic():
            left_out = _write(row, answer, now)
    except (UnableToReadSource, UnableToReadCatalog, UnableToApply, UnableToWrite) as error:
        # on-call is told of the first of the reads in a row that were refused
        tell_at = None if row.told_since else row.tell_at or now
        soon = min(again, now + RETRY)
        finish(row, due_at=soon, failing_since=row.failing_since or now, fault=str(error), tell_at=tell_at)
    else:
        finish(row, due_at=again, **_success(row, left_out, now))


def note_read(provider: str, left_out: Iterable[str], now: datetime) -> None:
    """Note that somebody has read a provider beside its schedule: what was wrong with it is over."""
    if row := Pull.objects.select_for_update().filter(name=provider).first():
        Pull.objects.filter(pk=row.pk).update(**_success(row, left_out, now))


def _success(row: Pull, left_out: Iterable[str], now: datetime) -> dict[str, Any]:
    tell_at = now if row.told_since else None  # on-call hears that it is over
    return {"read_at": now, "failing_since": None, "fault": "", "left_out": list(left_out), "tell_at": tell_at}


def _write(row: Pull, answer: SourceTelling | UnableToReadSource | None, now: datetime) -> tuple[str, ...]:
    """Write what a source tells, and its news into the audit; what of it is left out."""
    path, left_out = config().catalog_path, tuple[str, ...]()
    if isinstance(answer, UnableToReadSource):
        raise answer
    if isinstance(answer, SourceTelling):
        applied, left_out = sync_telling(answer, provider_named(row.name), now=now)
        name = row.name
    else:
        assert path is not None, "a row without a name is one of catalog files"
        source, applied = sync_files(path, name=config().catalog_source, now=now)
        name = source.name
    news = {what: getattr(applied, what) for what in NEWS}
    if any(news.values()):
        record(ORIGIN, "catalog.synced", kind="catalog", key=name, before=None, after=news)
    return left_out
