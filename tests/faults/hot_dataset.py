"""22: two thousand tests of one dataset fail together.

Staged: one table with so many tests, a third of which break with it; for some hours. Asserted: I1 to I8; one opening
notice for each address each time.
"""

from alerting.models import Notice
from incident_manager.models import SpoiltWindow
from tests.faults.experiment import STAGED, Experiment, Finding, Scale
from tests.faults.judging import judge
from tests.faults.scene import Scene


def run(scene: Scene, scale: Scale) -> Finding:
    """Break it for so many hours."""
    hours, before, failed = scale.of(10, quick=2), _openings(), SpoiltWindow.objects.count()
    for _ in range(hours):
        scene.hour(spoilt=1)
    opened, failed = _openings() - before, SpoiltWindow.objects.count() - failed
    wrong = [] if opened == hours else [f"{hours} times broken: {opened} opening notices"]
    missed = [] if failed > hours else [f"{hours} times broken: {failed} failures, none together with another"]
    waits = scene.fleet.database.execute("SHOW GLOBAL STATUS LIKE 'Innodb_row_lock_time_%'").split()
    figures = [
        ("tests of the dataset; failures", f"{scene.tests:,}; {failed:,}"),
        ("opening notices, one channel", str(opened)),
        ("lock waits ms, mean; worst", f"{waits[1]}; {waits[3]}"),
    ]
    finding = judge(scene, figures)
    return finding.also({"one notice": wrong, STAGED: missed})


def _openings() -> int:
    return Notice.objects.filter(event="opened", channel="webhook", sent_at__isnull=False).count()


EXPERIMENT = Experiment(
    number=22,
    title="a dataset whose tests fail together",
    run=run,
    minutes=20,
    tables=1,
    tests=2000,
    tests_quick=12,
)
