"""Where failing rows may be written: below a store of the operator's, and apart from the data itself."""

import os

from assay.catalog.locations import overlap, place_of
from assay.catalog.profile import DatasetProfile, RowsTarget
from assay.config import config


class UnableToKeepRows(ValueError):
    """Rows may not be written there; the sentence says why, and how to mend it."""


def location_of(target: RowsTarget) -> str:
    """The path or URL that a target names; raises UnableToKeepRows for a store that there is not."""
    name, _, below = target.table.partition("/")
    stores = config().row_stores
    if name not in stores:
        names = f"there are {', '.join(sorted(stores))}" if stores else "there is none yet"
        raise UnableToKeepRows(
            f"no store is called {name!r}, {names}: correct the name, or add it to ASSAY_ROW_STORES where the web app "
            "and the workers run"
        )
    root = stores[name].rstrip("/")
    return f"{root}/{below}" if below else root


def check_target(target: RowsTarget, dataset: DatasetProfile) -> None:
    """Raise UnableToKeepRows for a store that there is not, or that lies in or holds the dataset's own data."""
    location = location_of(target)
    place = place_of("parquet", location, {}, os.environ)
    for replica in dataset.replicas:
        if replica.is_in_lake and overlap(
            place, place_of(replica.storage, replica.location, replica.options, os.environ)
        ):
            raise UnableToKeepRows(
                f"{target.table} lies where {dataset.full_name} has its own data in {replica.datacenter}, or holds it: "
                "name another store, or a folder of its own below it"
            )
