"""What a pipeline has said of tests, laid over what is known of data (pure)."""

from collections.abc import Mapping
from dataclasses import replace

from incident_manager.quality.facts import Facts, KnownTest


def bound(facts: Facts, hard: Mapping[str, bool]) -> Facts:
    """The facts as they are for a pipeline that is bound to tests, by name: hard if strongly, else soft."""
    if not hard:
        return facts

    def of(test: KnownTest) -> KnownTest:
        return replace(test, hard=hard[test.name]) if test.name in hard else test

    names = {test.id: test.name for test in facts.tests}
    return replace(
        facts,
        tests=[of(test) for test in facts.tests],
        checks=[replace(check, test=of(check.test)) for check in facts.checks],
        spoilt=[replace(each, hard=hard.get(names.get(each.test_id or 0, ""), each.hard)) for each in facts.spoilt],
    )
