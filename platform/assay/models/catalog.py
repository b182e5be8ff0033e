"""What the company has: datasets, their replicas, the lineage between them, and the changes of their data."""

from django.db import models

from assay.database.name_keys import name_key
from assay.time.stored_times import Holds, StoredTimes
from assay.time.windows import Granularity, Partitioning, Window

from .operation import Claimable


class Dataset(Claimable):
    """A table or a business metric, known by ``namespace.name``; its tier gives the SLAs that are left empty."""

    namespace = models.CharField(max_length=120)
    name = models.CharField(max_length=120)
    full_name = models.CharField(max_length=241, editable=False, db_index=True)  # as it was spelled first
    name_key = models.CharField(max_length=32, unique=True, editable=False)  # the same for all its spellings
    description = models.TextField(blank=True)
    owner = models.CharField(max_length=200, db_index=True)
    team = models.CharField(max_length=200, blank=True, db_index=True)
    channels = models.JSONField(default=dict)  # where its owner is told, beside routes: channel → address
    tier = models.PositiveSmallIntegerField(default=5)
    columns = models.JSONField(default=list)  # [{"name": …, "type": …}] in order
    declared = models.JSONField(default=dict)  # column name → ISO time since when it is declared with that type
    primary_key = models.JSONField(default=list)  # column names
    partition_column = models.CharField(max_length=128, blank=True)
    granularity = models.CharField(max_length=10, blank=True, choices=[(g.value, g.value) for g in Granularity])
    partition_holds = models.CharField(max_length=20, default=Holds.KEY, choices=[(h.value, h.value) for h in Holds])
    stored_time_zone = models.CharField(max_length=64, default="UTC")  # of the times in the partition column
    time_zone = models.CharField(max_length=64, default="UTC")
    key_format = models.CharField(max_length=64, blank=True)
    first_partition = models.CharField(max_length=64, blank=True)  # key of the first partition ever kept
    freshness_sla = models.DurationField(null=True, blank=True)
    completeness_sla = models.FloatField(null=True, blank=True)
    duplicates_sla = models.FloatField(null=True, blank=True)
    consistency_sla = models.FloatField(null=True, blank=True)
    unpartitioned_sla = models.FloatField(null=True, blank=True)  # the share of rows that may lie in no partition
    sustain = models.DurationField(null=True, blank=True)
    grace = models.DurationField(null=True, blank=True)
    severity = models.CharField(max_length=4, blank=True)
    catch_up = models.CharField(max_length=6, blank=True)
    allow_empty = models.BooleanField(default=False)
    novelty = models.BooleanField(null=True, blank=True)  # whether it is watched for it; null: by tier
    inferred_schema = models.BooleanField(default=False)  # whether it is held to one
    retention = models.DurationField(null=True, blank=True)
    gate_on = models.CharField(max_length=10, default="outcome")  # or "incident"
    unknown_policy = models.CharField(max_length=10, blank=True)  # "open" or "closed"; empty: by tier
    readers = models.TextField(blank=True, default="")  # role:…, team:… and user:…, one a line; empty: everybody
    is_limited = models.BooleanField(default=False, db_index=True)  # whether its provider gives it readers or marks
    place_limits = models.JSONField(default=dict)  # what it inherits by its place, and what of its own that replaces
    tags = models.TextField(blank=True, default="")  # short words, one a line
    business_metric = models.JSONField(null=True, blank=True)  # how it is computed; null: a table with its own data
    source = models.CharField(max_length=100, default="push", db_index=True)  # the first that tells of it
    origins = models.JSONField(default=dict)  # field → [the source that says it so, since when as an ISO instant]
    created_at = models.DateTimeField()
    changed_at = models.DateTimeField()
    missing_since = models.DateTimeField(null=True, blank=True)  # gone from its source
    reconcile_at = models.DateTimeField(null=True, blank=True, db_index=True)  # null: its tests are as they should be

    def save(self, *args: object, **kwargs: object) -> None:
        """Save with the full name that the parts give, and its key."""
        self.full_name = f"{self.namespace}.{self.name}"
        self.name_key = name_key(self.full_name)
        super().save(*args, **kwargs)  # type: ignore[arg-type]

    def __str__(self) -> str:
        return self.full_name

    @property
    def partitioning(self) -> Partitioning | None:
        """How instants map to partitions, or ``None`` for a table without a partition key."""
        if not self.partition_column:
            return None
        return Partitioning(
            granularity=Granularity(self.granularity), time_zone=self.time_zone, key_format=self.key_format
        )

    @property
    def stored_times(self) -> StoredTimes | None:
        """What the partition column holds, where that is times; ``None`` where it is keys, or there is none."""
        partitioning, holds = self.partitioning, Holds(self.partition_holds)
        if partitioning is None or holds is Holds.KEY:
            return None
        return StoredTimes(partitioning=partitioning, holds=holds, time_zone=self.stored_time_zone)


class Telling(models.Model):
    """What one source tells of one table, now; a dataset is what its tellings merge to.

    A table of which no telling, nor all of them, says what a dataset needs is a proposal: it has no dataset.
    """

    source = models.CharField(max_length=100)
    name_key = models.CharField(max_length=32, db_index=True)  # as that of its dataset
    namespace = models.CharField(max_length=120)
    name = models.CharField(max_length=120)
    fields = models.JSONField(default=dict)  # as ``assay.catalog.tellings.fields_as_json`` writes them
    since = models.JSONField(default=dict)  # field → ISO instant since when the source says it so
    seen_at = models.DateTimeField(db_index=True)  # when it came or changed; of events also when it was named last
    reads = models.PositiveIntegerField(default=0)  # queries that named it, of the source ``query``

    class Meta:
        constraints = [models.UniqueConstraint(fields=("source", "name_key"), name="one_telling_per_source")]

    def __str__(self) -> str:
        return f"{self.source!r} of {self.namespace}.{self.name}"


class ColumnName(models.Model):
    """A name that columns have, in whatever case, with the datasets that declare one: what a search looks through.

    The columns of a dataset lie in its JSON, which no index reaches.
    """

    name = models.CharField(max_length=128, db_index=True)  # as it was spelled first
    name_key = models.CharField(max_length=32, unique=True)  # the same for all its spellings
    datasets = models.ManyToManyField(Dataset, related_name="column_names")

    def __str__(self) -> str:
        return self.name


class Replica(models.Model):
    """A dataset's location in one datacenter; position 0 is home."""

    dataset = models.ForeignKey(Dataset, models.CASCADE, related_name="replicas")
    datacenter = models.CharField(max_length=60)
    position = models.PositiveSmallIntegerField()
    storage = models.CharField(max_length=10)  # parquet, table, sql, or computed: of a business metric
    location = models.CharField(max_length=500)
    options = models.JSONField(default=dict)

    class Meta:
        ordering = ("position",)
        constraints = [models.UniqueConstraint(fields=("dataset", "datacenter"), name="one_replica_per_datacenter")]

    def __str__(self) -> str:
        return f"{self.dataset.full_name}@{self.datacenter}"


class EdgeTelling(models.Model):
    """What one source tells of one edge, now. Its ends need not be datasets yet."""

    source = models.CharField(max_length=100)
    upstream = models.CharField(max_length=241)  # a full name
    downstream = models.CharField(max_length=241)
    upstream_key = models.CharField(max_length=32, db_index=True)  # as that of its dataset
    downstream_key = models.CharField(max_length=32, db_index=True)
    one_to_one = models.BooleanField(default=False)
    sampled = models.BooleanField(default=False)
    keys = models.JSONField(default=dict)
    columns = models.JSONField(default=dict)
    seen_at = models.DateTimeField()  # when the source told of it last, to the day
    missed_since = models.DateTimeField(null=True, blank=True, db_index=True)  # since when it tells without it
    is_changed = False  # whether what is written now differs from what was stored

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=("source", "upstream_key", "downstream_key"), name="one_edge_telling_per_source"
            )
        ]

    def __str__(self) -> str:
        return f"{self.source!r} of {self.upstream} → {self.downstream}"

    @property
    def pair(self) -> tuple[str, str]:
        """The keys of the names of its ends."""
        return self.upstream_key, self.downstream_key


class LineageEdge(models.Model):
    """Data flows from ``upstream`` to ``downstream``, by all that sources tell: what ``EdgeTelling`` merges to."""

    upstream = models.ForeignKey(Dataset, models.CASCADE, related_name="downstream_edges")
    downstream = models.ForeignKey(Dataset, models.CASCADE, related_name="upstream_edges")
    one_to_one = models.BooleanField(default=False)
    sampled = models.BooleanField(default=False)
    keys = models.JSONField(default=dict)  # column of the downstream's primary key → its name upstream, if another
    columns = models.JSONField(default=dict)  # column of the downstream → columns upstream; "" → those of all of it
    source = models.CharField(max_length=100, default="push")  # the first that tells of it

    class Meta:
        constraints = [models.UniqueConstraint(fields=("upstream", "downstream"), name="one_edge_per_pair")]

    def __str__(self) -> str:
        return f"{self.upstream_id} → {self.downstream_id}"


class ChangeKind(models.TextChoices):
    """How Assay learnt that the data of a window changed."""

    COMPLETED = "completed"  # a pipeline's completion event
    REWRITTEN = "rewritten"  # another fingerprint
    RESOLVED = "resolved"  # the cause of an inhibited alert ended


class WriteMode(models.TextChoices):
    """What a run did with the rows that were there."""

    APPEND = "append"
    OVERWRITE = "overwrite"


class DataChange(Claimable):
    """The data of one window was written (or should be looked at again); live tests that read it are run again."""

    dataset = models.ForeignKey(Dataset, models.CASCADE, related_name="changes")
    datacenter = models.CharField(max_length=60)
    kind = models.CharField(max_length=10, choices=ChangeKind.choices)
    window_start = models.DateTimeField()
    window_end = models.DateTimeField()
    pipeline = models.CharField(max_length=200, blank=True)
    run = models.CharField(max_length=100, blank=True)  # the pipeline's own name of its run
    rows = models.PositiveBigIntegerField(null=True, blank=True)  # that the run has written, where it tells
    mode = models.CharField(max_length=10, blank=True, choices=WriteMode.choices)  # empty: it does not say
    at = models.DateTimeField()
    followed_at = models.DateTimeField(null=True, blank=True, db_index=True)
    followed_until = models.DateTimeField(null=True, blank=True)  # how far into its window, while it is under way

    class Meta:
        indexes = [models.Index(fields=("dataset", "window_start"))]

    def __str__(self) -> str:
        return f"{self.kind} {self.dataset_id} {self.window.text}"

    @property
    def window(self) -> Window:
        """The window whose data changed."""
        return Window(start=self.window_start, end=self.window_end)


class Deploy(models.Model):
    """Code that writes data was deployed: of one dataset, of those that fit a pattern of names, or of an owner's."""

    dataset = models.ForeignKey(Dataset, models.CASCADE, null=True, blank=True, related_name="deploys")
    pattern = models.CharField(max_length=300, blank=True)  # of names, as in mart.*
    owner = models.CharField(max_length=200, blank=True)  # or a team
    version = models.CharField(max_length=200)
    url = models.CharField(max_length=1000, blank=True)
    author = models.CharField(max_length=200)
    at = models.DateTimeField(db_index=True)

    def __str__(self) -> str:
        return f"deploy of {self.version} at {self.at:%Y-%m-%d %H:%M}"


# What pipelines ask of tests.


class Strength(models.TextChoices):
    """Whether the gate of a pipeline blocks where a test is bad, or only tells."""

    STRONG = "strong"
    WEAK = "weak"


class Binding(models.Model):
    """A pipeline's word on one test, which goes before the test's severity at the gate of that pipeline."""

    pipeline = models.CharField(max_length=200, db_index=True)
    dataset = models.ForeignKey(Dataset, models.CASCADE, related_name="bindings")
    test = models.CharField(max_length=300)  # its name: standard tests are made after the catalog is read
    strength = models.CharField(max_length=6, choices=Strength.choices)
    source = models.CharField(max_length=100, db_index=True)  # where it is written

    def __str__(self) -> str:
        return f"{self.pipeline} → {self.dataset.full_name}: {self.test}"
