"""Files of a store, other than parquet, for a Spark of this machine that has no file system of the store's scheme.

They are copied to its disk while they are read. A Spark that has the jars of the store reads them itself, as one on a
cluster must.
"""

import shutil
import tempfile
import weakref
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from urllib.parse import urlsplit

from py4j.protocol import Py4JJavaError
from pyarrow import ArrowException
from pyarrow.fs import FileInfo, LocalFileSystem, copy_files
from pyspark.sql import SparkSession

from assay.stores import is_store
from execution_engine.engines.files.listing import Listing, Root, UnableToListFiles, unable_to_list
from execution_engine.engines.protocol import Table

from .failures import is_connect

AT_ONCE = 4  # files
LARGEST_SHARE = 0.5  # of the free disk


def runs_here(session: SparkSession) -> bool:
    """Whether the tasks of the session run on this machine, with the environment of this process."""
    return not is_connect(session) and str(session.sparkContext.master).startswith("local")


def is_closed_to(session: SparkSession, listing: Listing) -> bool:
    """Whether the files lie in a store for which the session has no file system; a server does not say it."""
    url = listing.root.url(listing.root.path)
    if not is_store(url) or is_connect(session):
        return False
    context = session.sparkContext
    try:
        context._jvm.org.apache.hadoop.fs.FileSystem.getFileSystemClass(  # type: ignore[union-attr]
            urlsplit(url).scheme, context._jsc.hadoopConfiguration()
        )
    except Py4JJavaError:
        return True
    return False


def copy_of(table: Table, listing: Listing) -> Listing:
    """The same files on this machine, as long as somebody holds the listing; raises UnableToListFiles.

    One that was replaced since it was listed is refused, as the fingerprint is that of the listing.
    """
    folder = Path(tempfile.mkdtemp(prefix="assay-store-"))
    try:
        files = _copy_files(table, listing, folder)
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    root = Root(filesystem=LocalFileSystem(), path=str(folder), prefix="file://")
    copied = Listing(root=root, files=files, filtered=listing.filtered)
    weakref.finalize(copied, shutil.rmtree, folder, ignore_errors=True)
    return copied


def _copy_files(table: Table, listing: Listing, folder: Path) -> tuple[FileInfo, ...]:
    if listing.size > LARGEST_SHARE * shutil.disk_usage(folder).free:
        raise UnableToListFiles(
            f"{table.name}: Spark has no file system for {table.place}, and its files are too large to be copied to "
            f"{folder.parent}: give Spark the jars of the store, or write parquet (docs/stores.md)"
        )
    filesystem, disk = listing.root.filesystem, LocalFileSystem()

    def copy(file: FileInfo) -> str:
        path = folder / (file.path[len(listing.root.path) :].lstrip("/") or file.base_name)
        path.parent.mkdir(parents=True, exist_ok=True)
        copy_files(file.path, str(path), source_filesystem=filesystem, destination_filesystem=disk)
        return str(path)

    try:
        with ThreadPoolExecutor(AT_ONCE) as pool:
            paths = list(pool.map(copy, listing.files))
        files_now = filesystem.get_file_info([file.path for file in listing.files])
    except (ArrowException, OSError) as error:
        raise unable_to_list(table, error) from error
    if [_state(file) for file in files_now] != [_state(file) for file in listing.files]:
        raise UnableToListFiles(f"{table.name}: a file was replaced while it was read; the next scan reads it anew")
    return tuple(disk.get_file_info(paths))


def _state(file: FileInfo) -> tuple[int, int]:
    return file.size, (file.mtime_ns or 0) // 10**9
