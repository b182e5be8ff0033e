"""Folders whose files alone are not a table's rows: known by the logs that Delta, Iceberg and Hudi keep beside them."""

from pyarrow.fs import FileInfo, FileSelector, FileSystem, FileType

_LOGS = {"_delta_log": "a Delta", ".hoodie": "a Hudi", "metadata": "an Iceberg"}  # the folder that each keeps
_ICEBERG_LOG = ".metadata.json"


def table_format(filesystem: FileSystem, path: str) -> str | None:
    """``a Delta``, ``an Iceberg`` or ``a Hudi`` where the path is such a table or lies directly in one, else None."""
    above = path.rpartition("/")[0]
    folders = [f"{folder}/{log}" for folder in (path, above) if folder for log in _LOGS]
    present = [info for info in filesystem.get_file_info(folders) if info.type is FileType.Directory]
    return next((_LOGS[info.base_name] for info in present if _is_log(filesystem, info)), None)


def how_to_read(format_: str, location: str) -> str:
    """What to tell whoever gave such a folder as a folder of files."""
    return (
        f"{location} is {format_} table: its files alone are not its rows, as its log says which of them count; "
        "register it in a Spark catalog, and write storage: table with its name there as the location"
    )


def _is_log(filesystem: FileSystem, folder: FileInfo) -> bool:
    """Whether it is the log; many a folder is called ``metadata``, but Iceberg's holds files of one kind."""
    if folder.base_name != "metadata":
        return True
    return any(info.base_name.endswith(_ICEBERG_LOG) for info in filesystem.get_file_info(FileSelector(folder.path)))
