"""The one row that holds the simulated now of a replay."""

from django.db import models


class SimulatedClock(models.Model):
    """While this row exists, domain time is its ``now``."""

    id = models.PositiveSmallIntegerField(primary_key=True, default=1)  # MariaDB allows no CHECK on AUTO_INCREMENT
    now = models.DateTimeField()

    class Meta:
        constraints = [models.CheckConstraint(condition=models.Q(id=1), name="one_simulated_clock")]

    def __str__(self) -> str:
        return f"simulated {self.now:%Y-%m-%d %H:%M:%S}"
