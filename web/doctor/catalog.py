"""Checks of what Assay is to look after."""

from pyarrow.fs import FileType

from assay.models import Dataset, Replica
from execution_engine.engines.files import UnableToListFiles, open_root
from web.doctor.finding import Finding, ill, well


def catalog() -> Finding:
    """Whether there is any dataset."""
    count = Dataset.objects.filter(missing_since__isnull=True).count()
    if not count:
        return ill("catalog", "it is empty", "run `assay sync FILE` (docs/catalog.md says what it holds)")
    return well("catalog", f"{count} datasets")


def replicas() -> Finding:
    """Whether the folder of every replica is there."""
    paths = Replica.objects.filter(storage="parquet").select_related("dataset")
    lost = [f"{replica} at {replica.location}" for replica in paths if not _is_there(replica.location)]
    if lost:
        return ill("replicas", f"no data found for {'; '.join(lost[:5])}", "mend the locations in the catalog")
    return well("replicas", "every folder is there")


def _is_there(location: str) -> bool:
    try:
        root = open_root(location)
        return bool(root.filesystem.get_file_info(root.path).type == FileType.Directory)
    except (UnableToListFiles, OSError):
        return False
