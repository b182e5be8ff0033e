"""A file of comma-separated values as a parquet file, for as long as it is read."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import pyarrow as pa
import pyarrow.parquet as pq
from pyarrow import csv

OPTIONS = csv.ConvertOptions(strings_can_be_null=True)  # an empty field is a missing value, of a text too


class UnableToReadCsv(ValueError):
    """The file is no CSV with a header."""


@contextmanager
def as_parquet(path: Path) -> Iterator[Path]:
    """A folder with the rows as parquet, block by block; raises UnableToReadCsv."""
    with TemporaryDirectory(prefix="assay-csv-") as folder:
        try:
            reader = csv.open_csv(path, convert_options=OPTIONS)
            with pq.ParquetWriter(Path(folder) / "rows.parquet", reader.schema) as writer:
                for batch in reader:
                    writer.write_batch(batch)
        except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
            message = f"{path} is no table of comma-separated values with a header: {error}. Mend it, or write parquet."
            raise UnableToReadCsv(message) from error
        yield Path(folder)
