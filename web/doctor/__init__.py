"""What can be wrong with a set-up: one small check each, its finding, and how to mend it.

It changes nothing.
"""

from .examine import examine
from .finding import Finding

__all__ = ["Finding", "examine"]
