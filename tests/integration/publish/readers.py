"""Fifty readers that follow a pointer to the data that it names, over and over, and check every byte of it.

``python tests/integration/publish/readers.py POINTER`` knows nothing of Assay. It ends when its input does, and says
what the readers saw.
"""

import hashlib
import json
import sys
import threading
from collections import Counter
from pathlib import Path

from pyarrow import BufferReader
from pyarrow.parquet import ParquetFile

READERS = 50


def document_of(pointer: Path) -> dict[str, object] | None:
    """What the pointer says; None while there is none."""
    try:
        content = pointer.read_bytes()
    except FileNotFoundError:
        return None
    is_signal = pointer.suffix == ".parquet"
    text = ParquetFile(BufferReader(content)).read(["document"]).to_pylist()[0]["document"] if is_signal else content
    found = json.loads(text)
    rest = {name: value for name, value in found.items() if name != "sha256"}
    sealed = json.dumps(rest, sort_keys=True, separators=(",", ":")).encode()
    assert hashlib.sha256(sealed).hexdigest() == found["sha256"], "the pointer is not whole"
    assert isinstance(found, dict)
    return found


def version_of(document: dict[str, object]) -> tuple[int, int]:
    """The version that all rows hold, and how many there are."""
    seen: list[int] = []
    assert isinstance(document["files"], list)
    for file in document["files"]:
        content = (Path(str(document["location"])) / file["path"]).read_bytes()
        assert len(content) == file["bytes"], "a file has another size"
        assert hashlib.sha256(content).hexdigest() == file["sha256"], "a file is not what was audited"
        seen += ParquetFile(BufferReader(content)).read().column("v").to_pylist()
    assert len(set(seen)) == 1, f"a mix of versions: {sorted(set(seen))}"
    return seen[0], len(seen)


def main(pointer: Path) -> None:
    """Read until the input ends."""
    over, lock = threading.Event(), threading.Lock()
    seen: Counter[int] = Counter()
    wrong: list[str] = []
    least: list[int] = []

    def read() -> None:
        while not over.wait(0.2):
            try:
                document = document_of(pointer)
                if document is None:
                    continue
                version, rows = version_of(document)
                with lock:
                    seen[version] += 1
                    least[:] = [min([rows, *least])]
            except Exception as error:
                with lock:
                    wrong.append(f"{type(error).__name__}: {error}")

    threads = [threading.Thread(target=read) for _ in range(READERS)]
    for thread in threads:
        thread.start()
    sys.stdin.read()
    over.set()
    for thread in threads:
        thread.join()
    print(json.dumps({"seen": dict(seen), "wrong": wrong, "fewest_rows": least[0] if least else None}))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
