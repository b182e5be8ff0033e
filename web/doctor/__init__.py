"""What can be wrong with a set-up: one small check each, its finding, and how to mend it."""

from web.doctor.examine import examine
from web.doctor.finding import Finding

__all__ = ["Finding", "examine"]
