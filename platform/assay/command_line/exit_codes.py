"""What the exit code of every command means."""

from enum import IntEnum


class ExitCode(IntEnum):
    """0 held, 1 failed, 2 warnings only, 3 could not be done (usage errors included)."""

    HELD = 0
    FAILED = 1
    WARNED = 2
    UNABLE = 3


class FailOn:
    """From which result on a command exits with a code other than 0 (``--fail-on``)."""

    CHOICES = ("fail", "warn", "never")

    @staticmethod
    def apply(code: ExitCode, fail_on: str) -> ExitCode:
        """The code to exit with: ``never`` hides failures, ``fail`` hides warnings, nothing hides ``UNABLE``."""
        hidden = {"never": {ExitCode.FAILED, ExitCode.WARNED}, "fail": {ExitCode.WARNED}, "warn": set()}[fail_on]
        return ExitCode.HELD if code in hidden else code
