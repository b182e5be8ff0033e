"""Checks of what Assay is to look after."""

from pyarrow.fs import FileType

from assay.catalog.locations import UnableToUseLocation
from assay.catalog.storages import FILES
from assay.config import config
from assay.models import AuditEntry, Dataset, Pull, Replica
from execution_engine.engines.files.listing import UnableToListFiles, root_of
from execution_engine.storage import table_of

from .finding import Finding, ill, well


def catalog() -> Finding:
    """Whether there is any dataset."""
    count = Dataset.objects.filter(missing_since__isnull=True).count()
    if not count:
        return ill("catalog", "it is empty", "run `assay sync FILE` (docs/catalog.md says what it holds)")
    return well("catalog", f"{count} datasets")


def pulled() -> Finding:
    """Whether the catalog that is read by itself could be read."""
    row = Pull.objects.first()
    if row is None:
        return well("pull", "no catalog is read on a schedule")
    if row.failing_since:
        found = f"{config().catalog_path} has been refused since {row.failing_since:%Y-%m-%d %H:%M} UTC: {row.fault}"
        return ill("pull", found, f"correct the catalog; it is read again at {row.due_at:%Y-%m-%d %H:%M} UTC")
    return well("pull", f"read at {row.read_at:%Y-%m-%d %H:%M} UTC" if row.read_at else "not read yet")


def names() -> Finding:
    """Whether datasets still have the names that a migration gave them, as theirs differed by case only."""
    renamed = AuditEntry.objects.filter(action="dataset.renamed", via="migration").order_by("pk")
    was = {entry.object_id: entry.before["name"] for entry in renamed if entry.before}
    live = Dataset.objects.filter(full_name__in=was, missing_since__isnull=True).order_by("pk")
    if told := [f"{row.full_name} was {was[row.full_name]}" for row in live]:
        found = f"names that differ only by case are now one name, so {'; '.join(told)}"
        return ill("names", found, "give each table one name in its source, and run `assay sync`")
    return well("names", "no two were one")


def replicas() -> Finding:
    """Whether the folder of every replica is there."""
    paths = Replica.objects.filter(storage__in=FILES).select_related("dataset")
    lost = [f"{replica} at {replica.location}" for replica in paths if not _is_there(replica)]
    if lost:
        return ill("replicas", f"no data found for {'; '.join(lost[:5])}", "correct the locations in the catalog")
    return well("replicas", "every folder is there")


def _is_there(replica: Replica) -> bool:
    try:
        root = root_of(table_of(replica.dataset, replica))
        return bool(root.filesystem.get_file_info(root.path).type != FileType.NotFound)
    except (UnableToUseLocation, UnableToListFiles, OSError):
        return False
