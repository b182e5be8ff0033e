"""Whether the footer of a parquet file can be true; kernels take this module along to where Spark runs them."""

import pyarrow as pa
import pyarrow.parquet as pq

LEAST_OF_A_PAGE = 16  # bytes of a page with its header
MOST_OF_A_PAGE = 2**31 - 1  # values


def sound_footer(footer: pq.FileMetaData, size: int | None) -> pq.FileMetaData:
    """The footer itself; raises ArrowInvalid where it disagrees with its row groups, or claims what no file holds.

    A page has ``LEAST_OF_A_PAGE`` bytes at least and ``MOST_OF_A_PAGE`` values at most, as its header has 32 bits.
    """
    counts = [footer.row_group(at).num_rows for at in range(footer.num_row_groups)]
    if min(counts, default=0) < 0 or sum(counts) != footer.num_rows:
        raise pa.ArrowInvalid(f"its footer claims {footer.num_rows} rows, and its row groups {sum(counts)}")
    if size is not None and footer.num_rows > size // LEAST_OF_A_PAGE * MOST_OF_A_PAGE:
        raise pa.ArrowInvalid(f"its footer claims {footer.num_rows} rows in {size} bytes")
    return footer
