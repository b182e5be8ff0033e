"""The rows by which the service runs itself: signs of life, the simulated now, daily stages, sources, counters."""

from django.db import models

# Rows that are queues: the lease, epoch and attempts that every claimable row carries.


class Claimable(models.Model):
    """A row that a stage claims. What is pending, and when it is due, the stage itself says (``assay.queue.flow``)."""

    lease_until = models.DateTimeField(null=True, blank=True, editable=False)
    epoch = models.PositiveIntegerField(default=0, editable=False)
    attempts = models.PositiveIntegerField(default=0, editable=False)

    class Meta:
        abstract = True


# The schedulers' signs of life.


class Beat(models.Model):
    """When the scheduler of one host has swept last, in the database's real time."""

    host = models.CharField(max_length=190, unique=True)
    pid = models.PositiveIntegerField()
    swept_at = models.DateTimeField(db_index=True)
    interval = models.DurationField()  # between two of its sweeps

    def __str__(self) -> str:
        return f"scheduler {self.pid} on {self.host}, swept at {self.swept_at:%Y-%m-%d %H:%M:%S}"


# The one row that holds the simulated now of a replay.


class SimulatedClock(models.Model):
    """While this row exists, domain time is its ``now``."""

    id = models.PositiveSmallIntegerField(primary_key=True, default=1)  # MariaDB allows no CHECK on AUTO_INCREMENT
    now = models.DateTimeField()

    class Meta:
        constraints = [models.CheckConstraint(condition=models.Q(id=1), name="one_simulated_clock")]

    def __str__(self) -> str:
        return f"simulated {self.now:%Y-%m-%d %H:%M:%S}"


# What comes round by time.


class Round(Claimable):
    """When the stage of this name is due next, and what it keeps from one round to the next."""

    name = models.CharField(max_length=60, unique=True)
    due_at = models.DateTimeField(db_index=True)
    state = models.JSONField(default=dict)

    def __str__(self) -> str:
        return f"{self.name} due at {self.due_at:%Y-%m-%d %H:%M}"


# The sources of catalogs.


class Source(Claimable):
    """A file, a folder or a provider that tells of datasets, lineage and tests, under a name of its own."""

    name = models.CharField(max_length=100, unique=True)
    place = models.CharField(max_length=1000, blank=True)  # where it was read last
    kind = models.CharField(max_length=40, blank=True)  # of a provider; empty: catalog files
    defaults = models.JSONField(default=dict)  # of a provider: what holds where no source says it
    read_at = models.DateTimeField(null=True, blank=True)  # of a provider: when all that it tells was written last

    def __str__(self) -> str:
        return f"{self.name!r} ({self.place})" if self.place else repr(self.name)


class Pull(Claimable):
    """The scheduled read of one source: when it is read next, and what is wrong with it, if anything."""

    name = models.CharField(max_length=100, blank=True, unique=True)  # of a provider; empty: ASSAY_CATALOG_PATH
    due_at = models.DateTimeField(db_index=True)
    read_at = models.DateTimeField(null=True, blank=True)  # the last time that all was right
    failing_since = models.DateTimeField(null=True, blank=True)
    fault = models.TextField(blank=True)  # why the last read was refused; empty: it was not
    left_out = models.JSONField(default=list, blank=True)  # sentences on what a provider told that cannot be used
    tell_at = models.DateTimeField(null=True, blank=True, db_index=True)  # null: on-call knows
    told_since = models.DateTimeField(null=True, blank=True)  # the failing of which on-call was told

    def __str__(self) -> str:
        return f"read of {self.what} due at {self.due_at:%Y-%m-%d %H:%M}"

    @property
    def what(self) -> str:
        """What is read, in words."""
        return f"the provider {self.name}" if self.name else "the catalog files"


# Counters of what has ended, which outlive the rows that they have counted.


class Tallied(models.TextChoices):
    """What is counted, and what its label tells."""

    RUNS = "runs"  # by outcome
    NOTICES = "notices"  # by what became of them
    SUPPRESSED = "suppressed"  # notices, by why nobody was told
    SCANS = "scans"  # by datacenter: those that ended well
    SCANS_FAILED = "scans_failed"  # by datacenter
    SCAN_SECONDS = "scan_seconds"  # by datacenter
    VALUES = "values"  # of scans, by what read them: footers or kernels
    VALUES_LEFT = "values_left"  # to Spark, by what kept the kernels from them
    PRUNED = "pruned"  # by table: rows that had had their time


class Tally(models.Model):
    """A part of one counter: the sum over its slots is the count. Amounts only ever grow."""

    kind = models.CharField(max_length=20, choices=Tallied.choices)
    label = models.CharField(max_length=60)
    slot = models.PositiveSmallIntegerField()  # so that those who count at once seldom wait for each other
    amount = models.FloatField(default=0.0)

    class Meta:
        constraints = [models.UniqueConstraint(fields=("kind", "label", "slot"), name="one_tally_per_slot")]

    def __str__(self) -> str:
        return f"{self.kind} {self.label}: {self.amount:g}"
