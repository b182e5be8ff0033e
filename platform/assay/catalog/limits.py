"""Write the limits that datasets inherit by their places, and judge again where a dataset is read."""

import os
from collections.abc import Collection, Iterable, Sequence
from typing import Any

from django.db.models import Q

from assay.database.name_keys import name_keys
from assay.database.statements import IN_ONE, in_parts
from assay.models import Dataset, Replica

from .locations import PUSHED, UnableToUseLocation, place_of
from .place_limits import NOBODY, PlacedDataset, closed_folders, limits_of, way_of_reading
from .tellings import CORRECTION

OWN = ("readers", "owner", "team")  # what stands in ``place_limits`` as its provider declares it, where it inherits


class UnableToLimit(Exception):
    """Limits of one dataset that cannot hold for another that reads the same place."""


def inherit_limits(names: Collection[str], *, source: str) -> set[str]:
    """Write what these datasets inherit, and what others inherit from them; the names of those that changed.

    Raises UnableToLimit where limits contradict each other, and where a push, or a person, would limit what others
    declare.
    """
    keys = set(name_keys(names))
    rows = Dataset.objects.filter(business_metric__isnull=True)
    named = [row for part in in_parts(keys) for row in rows.filter(name_key__in=part)]
    for row in named:
        is_limited = bool(own_limits(row)["readers"]) or bool(_own_sensitive(row))
        if row.is_limited != is_limited:
            row.is_limited = is_limited
            Dataset.objects.filter(pk=row.pk).update(is_limited=is_limited)
    limited = limited_datasets()
    is_limiting = any(row.is_limited for row in named)
    if not limited and not Dataset.objects.exclude(place_limits={}).exists():
        return set()
    rows = rows.prefetch_related("replicas")
    if not is_limiting and len(keys) <= IN_ONE:
        rows = rows.filter(Q(name_key__in=keys) | ~Q(place_limits={}))
    changed = set()
    for row in rows:
        limits = limits_of(placed(row, row.replicas.all()), limited)
        is_judged = row.name_key in keys or (row.source != PUSHED and row.missing_since is None)
        if limits.fault and is_judged:
            raise UnableToLimit(f"{row.full_name}: {limits.fault}")
        own = own_limits(row)
        effective = {"readers": "\n".join(limits.readers), "owner": limits.owner, "team": limits.team}
        inherited = {
            **({"own": own} if own != effective else {}),
            **({"sensitive": sorted(limits.sensitive)} if limits.sensitive else {}),
        }
        values = {**effective, "place_limits": inherited}
        if all(getattr(row, name) == value for name, value in values.items()):
            continue
        Dataset.objects.filter(pk=row.pk).update(**values)
        if source in (PUSHED, CORRECTION) and row.name_key not in keys and is_limiting:
            what = "push" if source == PUSHED else "correction"
            raise UnableToLimit(
                f"{row.full_name} reads the same place, and a {what} may not limit it: "
                "declare the limits in a catalog file"
            )
        changed.add(row.full_name)
    return changed


def limited_datasets() -> list[PlacedDataset]:
    """The datasets that have limits of their own."""
    rows = Replica.objects.filter(dataset__is_limited=True).select_related("dataset")
    by_dataset: dict[int, list[Replica]] = {}
    for replica in rows:
        by_dataset.setdefault(replica.dataset_id, []).append(replica)
    return [placed(replicas[0].dataset, replicas) for replicas in by_dataset.values()]


def placed(dataset: Dataset, replicas: Iterable[Replica]) -> PlacedDataset:
    """A dataset as its provider declares it, with the places that these replicas read."""
    own = own_limits(dataset)
    columns = [column["name"] for column in dataset.columns]
    return PlacedDataset(
        name=dataset.full_name,
        owner=own["owner"],
        team=own["team"],
        readers=tuple(own["readers"].splitlines()),
        sensitive=_own_sensitive(dataset),
        places=[
            (
                place_of(replica.storage, replica.location, replica.options, os.environ),
                way_of_reading(replica.storage, replica.options, columns),
            )
            for replica in replicas
        ],
        is_pushed=dataset.source == PUSHED,
        is_gone=dataset.missing_since is not None,
    )


def closed_to(dataset: Dataset, replica: Replica, limited: Sequence[PlacedDataset]) -> tuple[str, ...]:
    """The local folders that links among the files of a replica may not lead into.

    Raises UnableToUseLocation where the place itself has limits by now that the dataset does not have, as where a
    folder has become a link.
    """
    if not limited:
        return ()
    own = placed(dataset, [replica])
    limits = limits_of(own, limited)
    hidden = own.sensitive | set(dataset.place_limits.get("sensitive", ()))
    readers = set(dataset.readers.splitlines())
    is_closed = not limits.readers or (bool(readers) and readers <= {*limits.readers, *NOBODY})
    is_held = is_closed and limits.sensitive <= hidden
    if limits.fault or not is_held:
        names = ", ".join(limits.sources)
        raise UnableToUseLocation(
            limits.fault or f"it leads to the place of {names}, and has not its limits: push it again"
        )
    return closed_folders(own, limits, limited)


def own_limits(dataset: Dataset) -> dict[str, Any]:
    """The readers, owner and team of a dataset as its source declares them."""
    return {**{name: getattr(dataset, name) for name in OWN}, **dataset.place_limits.get("own", {})}


def _own_sensitive(dataset: Dataset) -> frozenset[str]:
    return frozenset(column["name"].casefold() for column in dataset.columns if column.get("sensitive"))
