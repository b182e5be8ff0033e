"""Steps back in time as ``ago=`` and ``every=`` take them."""

from assay.time.steps import StepUnit
from assay.time.windows import Granularity, Step, UnableToStep

_HINTS = {
    Granularity.HOUR: "1h or 1d",
    Granularity.DAY: "1d or 1mo",
    Granularity.WEEK: "1w",
    Granularity.MONTH: "1mo or 1y",
}


def misfit(text: str, granularity: Granularity | None, name: str) -> str | None:
    """What is wrong with a step back; None for one that leads from each partition to another, or may."""
    try:
        step = Step.parse(text)
    except UnableToStep as error:
        return str(error)
    if step.amount <= 0:
        return f"{name}= needs a step of at least one unit, such as 7d"
    if granularity is not None and not fits(step, granularity):
        return no_multiple(step, granularity)
    return None


def no_multiple(step: Step, granularity: Granularity) -> str:
    """What is said of a step that does not fit."""
    length = f"{abs(step.amount)}{step.unit.value}"
    hint = _HINTS[granularity]
    return f"{length} is no whole number of {granularity.value}s, which the partitions are: take {hint}, or multiples"


def fits(step: Step, granularity: Granularity) -> bool:
    """Whether the step is a multiple of the partitions' length, wherever it begins."""
    match granularity:
        case Granularity.HOUR:
            return step.unit is not StepUnit.MINUTE
        case Granularity.DAY:
            return step.unit.is_calendar
        case Granularity.WEEK:
            return step.unit is StepUnit.WEEK or (step.unit is StepUnit.DAY and step.amount % 7 == 0)
        case Granularity.MONTH:
            return step.unit in (StepUnit.MONTH, StepUnit.YEAR)
