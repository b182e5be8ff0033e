"""Corrections: what people say of a dataset stands above all its sources, until they take it back."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from django.db import transaction

from assay.catalog.yaml.parts import BusinessMetricPart, DatasetPart
from assay.catalog.yaml.profiles import YamlParts, cross_check
from assay.catalog.yaml.written import KEYS, UnableToReadValues, as_written, field_of, key_of, read_values
from assay.database.name_keys import name_key
from assay.models import AuditEntry, Dataset, Telling

from .dataset_rows import merged_tellings
from .profile import NO_PARTITION, DatasetProfile
from .selectors import profile_of
from .services import Applied, UnableToApply, apply_telling
from .tellings import CORRECTION, FIELDS, SourceTelling, TableTelling

OF_METRICS = frozenset({*BusinessMetricPart.model_fields, "slas.freshness"})  # the others follow from its sources


POLICY = "policy"  # what entries of the audit come by where a policy of the operator has corrected


class UnableToCorrect(ValueError):
    """A correction that cannot be read, or that does not fit its dataset; ``field`` says where."""

    def __init__(self, sentence: str, field: str) -> None:
        super().__init__(sentence)
        self.field = field


@transaction.atomic
def correct(full_name: str, patch: Mapping[str, Any], *, now: datetime) -> Applied:
    """Write what somebody says of a table, in place of what sources say of it; null takes what they said back.

    ``patch`` has the keys of a dataset in a catalog file. A table that so has all that a dataset needs becomes one.
    Raises UnableToCorrect.
    """
    key = name_key(full_name)
    list(Telling.objects.select_for_update().filter(name_key=key).values("pk"))  # one correction after the other
    tellings, before = merged_tellings(key)
    sourced = {telling.source: telling.telling for telling in tellings}
    stored = sourced.pop(CORRECTION, None)
    if not sourced:
        raise UnableToCorrect(f"No source tells of {full_name}: there is nothing to correct.", "name")
    first = next(iter(sourced.values()))
    try:
        values = read_values(first.full_name, patch)
    except UnableToReadValues as unable:
        raise UnableToCorrect(str(unable), ", ".join(dict.fromkeys(place for place, _ in unable.faults))) from None
    if any(telling.business_metric for telling in sourced.values()):
        _refuse_derived(values)
    telling = replace(stored or TableTelling(namespace=first.namespace, name=first.name), **values)
    try:
        applied = apply_telling(SourceTelling(tables=(telling,)), source=CORRECTION, full=False, now=now)
    except UnableToApply as unable:
        raise UnableToCorrect(str(unable), ", ".join(key_of(field) for field in values)) from None
    after = merged_tellings(key)[1]
    earlier = _faults(before.profile)
    if faults := {place: sentence for place, sentence in _faults(after.profile).items() if place not in earlier}:
        sentences = (f"{place}: {sentence}" for place, sentence in faults.items())
        raise UnableToCorrect("; ".join(sentences), ", ".join(faults))
    return applied


def _refuse_derived(values: Mapping[str, Any]) -> None:
    if derived := [key for field in values if (key := key_of(field)) not in OF_METRICS]:
        names = ", ".join(derived)
        raise UnableToCorrect(f"{names}: a business metric has this from its sources: correct those.", names)


def _faults(profile: DatasetProfile | None) -> dict[str, str]:
    """What does not fit together in a dataset, as in a catalog file: where, and how to mend it."""
    if profile is None or profile.business_metric is not None:
        return {}
    columns = {column.name: column.type for column in profile.columns}
    part = DatasetPart.model_construct(**{**vars(profile), "name": profile.full_name, "columns": columns})
    parts = YamlParts(datasets={0: part}, lineage={}, tests={}, names=[part.name])
    return {".".join(map(str, path[2:])): sentence for path, sentence in cross_check(parts)}


# Where the values of a dataset come from.


@dataclass(frozen=True, kw_only=True)
class SourceValue:
    """What one source says of a field, as a catalog file has it, and since when."""

    source: str
    value: Any
    since: datetime | None


@dataclass(frozen=True, kw_only=True)
class FieldOrigin:
    """The value of a field, the source that it is from (None: no source says it), and what others say."""

    field: str  # as people call it, such as ``slas.freshness``
    value: Any
    source: str | None
    since: datetime | None
    others: tuple[SourceValue, ...]
    policy: str = ""  # of the operator's, that has corrected it; empty: none

    @property
    def is_corrected(self) -> bool:
        """Whether somebody has corrected it."""
        return self.source == CORRECTION


def origins_of(dataset: Dataset) -> list[FieldOrigin]:
    """Where each field of a dataset comes from, in the order of a catalog file."""
    profile, (tellings, _) = profile_of(dataset), merged_tellings(dataset.name_key)
    flat, origins = vars(profile) | vars(profile.slas), []
    policies = _policies_of(dataset)
    for key in KEYS:
        field = field_of(key)
        if field not in FIELDS or (profile.business_metric is not None and key not in OF_METRICS):
            continue
        source, since = dataset.origins.get(field, (None, None))
        others = tuple(
            SourceValue(
                source=other.source,
                value=as_written(field, getattr(other.telling, field)),
                since=_instant(other.since.get(field)),
            )
            for other in tellings
            if other.source != source and getattr(other.telling, field) is not None
        )
        value = flat[field]
        if field == "partition" and value is None and source is not None:
            value = NO_PARTITION
        policy = policies.get((key, since), "") if source == CORRECTION else ""
        origin = FieldOrigin(
            field=key,
            value=as_written(field, value),
            source=source,
            since=_instant(since),
            others=others,
            policy=policy,
        )
        origins.append(origin)
    return origins


def _policies_of(dataset: Dataset) -> dict[tuple[str, str], str]:
    """The policies that have corrected fields of a dataset, by the field and since when."""
    entries = AuditEntry.objects.filter(
        object_kind="dataset", object_id=dataset.full_name, action="dataset.correct", via=POLICY
    )
    given = (
        entries.values_list("given", flat=True)
        if any(source == CORRECTION for source, _ in dataset.origins.values())
        else []
    )
    return {(details["field"], details.get("since", "")): details["policy"] for details in given}


def _instant(text: str | None) -> datetime | None:
    return datetime.fromisoformat(text) if text else None
