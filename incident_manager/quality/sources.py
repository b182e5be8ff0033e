"""What is known of a business metric with what is known of the datasets that it is computed from."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace

from assay.access.readers import may_show
from assay.catalog.selectors import by_names, definition_of, home, owned
from assay.models import Dataset

from .facts import Facts, SourceFacts

FactsOf = Callable[[Iterable[Dataset]], Mapping[int, Facts]]  # by the ids of datasets


def with_sources(known: Mapping[int, Facts], metrics: Iterable[Dataset], facts_of: FactsOf) -> dict[int, Facts]:
    """The facts with those of the sources of each business metric; what is known of these too is not read again."""
    computed = [(metric, definition) for metric in metrics if (definition := definition_of(metric))]
    if not computed:
        return dict(known)
    rows = by_names({name for _, definition in computed for name in definition.sources})
    facts = {**known, **facts_of([row for row in rows.values() if row.pk not in known])}
    found = dict(known)
    for metric, definition in computed:
        sources = [rows[name] for name in definition.sources if name in rows and rows[name].replicas.all()]
        own = [
            SourceFacts(
                facts=facts[row.pk], datacenter=home(row).datacenter, is_shown=may_show(owned(row), owned(metric))
            )
            for row in sources
        ]
        found[metric.pk] = replace(found[metric.pk], sources=own)
    return found
