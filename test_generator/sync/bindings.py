"""The bindings of pipelines to tests that a source tells."""

from collections.abc import Sequence

from assay.catalog.profile import BindingProfile
from assay.catalog.selectors import by_names
from assay.database.name_keys import name_key
from assay.models import Binding, DataTest

Key = tuple[str, str, str]  # pipeline, key of the dataset's name, test


def tell_bindings(told: Sequence[BindingProfile], *, source: str, full: bool) -> tuple[tuple[str, ...], list[str]]:
    """Write what a source tells, in place of what it told before.

    What came, changed or went, and a sentence for each that cannot be written.
    """
    rows = {_key(row): row for row in Binding.objects.select_related("dataset")}
    datasets = by_names({binding.dataset for binding in told})
    faults: list[str] = []
    kept: set[int] = set()
    changed: list[Binding] = []
    for binding in told:
        place = f"{binding.place}: " if binding.place else ""
        whose = f"{place}binding of {binding.pipeline!r} to {binding.dataset}, test {binding.test!r}"
        row = rows.get((binding.pipeline, name_key(binding.dataset), binding.test))
        if (dataset := datasets.get(binding.dataset)) is None:
            faults.append(f"{whose}: the catalog has no dataset {binding.dataset!r}; tell of it first")
        elif row is not None and row.source != source:
            faults.append(f"{whose}: the source {row.source!r} has it: keep it in one of the two")
        elif row is None:
            made = {"pipeline": binding.pipeline, "dataset": dataset, "test": binding.test, "strength": binding.gate}
            changed.append(Binding.objects.create(**made, source=source))
        else:
            kept.add(row.pk)
            if row.strength != binding.gate:
                row.strength = binding.gate
                row.save(update_fields=["strength"])
                changed.append(row)
    gone = [row for row in rows.values() if full and row.source == source and row.pk not in kept]
    Binding.objects.filter(pk__in=[row.pk for row in gone]).delete()
    return (*(f"{row} ({row.strength})" for row in changed), *(f"{row} (gone)" for row in gone)), faults


def idle_bindings(source: str) -> list[Binding]:
    """The bindings of a source to tests that are not live, and so are asked of nothing."""
    bindings = list(Binding.objects.filter(source=source).select_related("dataset").order_by("pk"))
    live = DataTest.objects.filter(dataset__in={row.dataset_id for row in bindings}, retired_at=None)
    names = set(live.values_list("dataset_id", "name"))
    return [row for row in bindings if (row.dataset_id, row.test) not in names]


def _key(row: Binding) -> Key:
    return row.pipeline, row.dataset.name_key, row.test
