"""What a revision of a data test holds (pure): the one list of its fields."""

from dataclasses import asdict, dataclass, fields, replace
from datetime import timedelta
from typing import Any, Self

from assay.catalog.profile import Targets


@dataclass(frozen=True, kw_only=True)
class Definition:
    """An assertion, and how it is asked and judged. Two revisions are the same if their definitions are."""

    assertion: str
    severity: str
    schedule: str  # "partition", "weekly", or a cron line in the dataset's zone
    sustain: timedelta
    catch_up: str
    declared: str = ""  # a print of the declared columns that it holds data to; empty: of none

    @classmethod
    def by(
        cls,
        targets: Targets,
        *,
        assertion: str,
        schedule: str,
        severity: str | None = None,
        sustain: timedelta | None = None,
        catch_up: str | None = None,
    ) -> Self:
        """What a test says, and for what it leaves open what its dataset is held to."""
        return cls(
            assertion=assertion,
            severity=severity or targets.severity,
            schedule=schedule,
            sustain=targets.sustain if sustain is None else sustain,
            catch_up=catch_up or targets.catch_up,
        )

    @classmethod
    def of(cls, revision: Any) -> Self:
        """That of a revision, whose columns bear the same names."""
        return cls(**{field.name: getattr(revision, field.name) for field in fields(cls)})

    @property
    def as_written(self) -> Self:
        """What people write of it: without what is known of the dataset."""
        return replace(self, declared="")

    @property
    def columns(self) -> dict[str, Any]:
        """The columns of a revision that holds it."""
        return asdict(self)
