"""Standings and their flips, waivers, alerts, silences and notices."""

from django.db import models

from assay.models import Category, Claimable, Dataset, DataTest, Revision
from assay.time.windows import Window
from execution_engine.models import Run, Windowed

from .state import LOG, Delivery, State, WaiverKind

STATES = [(state.value, state.value) for state in State]
WAIVER_KINDS = [(kind.value, kind.value.capitalize()) for kind in WaiverKind]


class Waiver(models.Model):
    """A user's word that broken results of a test on one window, and on later ones until ``ends_at``, open nothing."""

    data_test = models.ForeignKey(DataTest, models.CASCADE, related_name="waivers")
    revision = models.ForeignKey(Revision, models.CASCADE, related_name="waivers")
    kind = models.CharField(max_length=10, choices=WAIVER_KINDS)
    window_start = models.DateTimeField()
    window_end = models.DateTimeField()
    excess = models.FloatField(null=True, blank=True)  # how bad its window was then
    reason = models.TextField()
    author = models.CharField(max_length=200)
    starts_at = models.DateTimeField()
    ends_at = models.DateTimeField(null=True, blank=True)  # of its reach to later windows; null: it has none
    ended_at = models.DateTimeField(null=True, blank=True)  # a held run or a new revision ended it

    class Meta:
        indexes = [models.Index(fields=("data_test", "window_start"))]

    def __str__(self) -> str:
        return f"{self.kind} waiver of test {self.data_test_id}"

    @property
    def window(self) -> Window:
        """The window that the user spoke of."""
        return Window(start=self.window_start, end=self.window_end)


class Standing(Windowed, Claimable):
    """A test's state for a window; for a test of the whole table one row, whose window moves."""

    data_test = models.ForeignKey(DataTest, models.CASCADE, related_name="standings")
    window_key = models.CharField(max_length=80)  # the window's text, or "table"
    revision = models.ForeignKey(Revision, models.CASCADE, related_name="+")
    state = models.CharField(max_length=8, choices=STATES, default=State.PENDING.value)
    since = models.DateTimeField()
    due_at = models.DateTimeField()
    broken_since = models.DateTimeField(null=True, blank=True)  # t0: the first broken result at or after due
    streak_at = models.DateTimeField(null=True, blank=True)  # when windows that began broken in a row made it FAIL
    last_run = models.ForeignKey(Run, models.SET_NULL, null=True, blank=True, related_name="+")  # newest, any outcome
    last_outcome = models.CharField(max_length=6, blank=True)  # newest that held or broke
    error_reason = models.CharField(max_length=40, blank=True, db_index=True)  # of an error after the last verdict
    value = models.FloatField(null=True, blank=True)
    excess = models.FloatField(null=True, blank=True)
    sentence = models.TextField(blank=True)
    waiver = models.ForeignKey(Waiver, models.SET_NULL, null=True, blank=True, related_name="standings")
    attempt = models.PositiveIntegerField(default=0)  # of the check schedule
    next_check_at = models.DateTimeField(null=True, blank=True, db_index=True)
    next_age_at = models.DateTimeField(null=True, blank=True, db_index=True)  # when time alone changes the state

    class Meta:
        constraints = [models.UniqueConstraint(fields=("data_test", "window_key"), name="one_standing_per_window")]
        indexes = [
            models.Index(fields=("state", "window_start")),
            models.Index(fields=("data_test", "state", "window_end", "waiver")),  # of all that the catalogue counts
            models.Index(fields=("data_test", "window_end", "window_start", "state")),  # of all that a range is asked
        ]

    def __str__(self) -> str:
        return f"{self.data_test_id} {self.window_key}: {self.state}"


class SliceSearch(Claimable):
    """The search for the slice that explains a broken window of a test: once for each, beside the data."""

    standing = models.OneToOneField(Standing, models.CASCADE, related_name="slice_search")
    datacenter = models.CharField(max_length=60)  # where its files are read
    requested_at = models.DateTimeField()
    ended_at = models.DateTimeField(null=True, blank=True, db_index=True)  # null: it waits, or is under way
    result = models.JSONField(default=dict)  # execution_engine.slices.result.as_json

    def __str__(self) -> str:
        return f"search for the slice behind standing {self.standing_id}"


class SliceTrial(Claimable):
    """Whether a broken value would hold, were the slices behind what may have caused it as usual: once for a result."""

    standing = models.ForeignKey(Standing, models.CASCADE, related_name="trials")
    search = models.ForeignKey(SliceSearch, models.CASCADE, related_name="trials")  # of what may have caused it
    run = models.ForeignKey(Run, models.CASCADE, related_name="+")
    datacenter = models.CharField(max_length=60)  # where its files are read
    requested_at = models.DateTimeField()
    ended_at = models.DateTimeField(null=True, blank=True, db_index=True)  # null: it waits, or is under way
    holds = models.BooleanField(null=True)  # null: not known yet, or the rows do not say it
    reason = models.TextField(blank=True)
    columns = models.JSONField(default=list)  # of the slices and of the value: the reason tells of both

    class Meta:
        constraints = [models.UniqueConstraint(fields=("standing", "search", "run"), name="one_trial_per_result")]

    def __str__(self) -> str:
        return f"trial of standing {self.standing_id} without the slices of {self.search_id}"


class Flip(Windowed, Claimable):
    """A change of a standing's state or waiver; the incident manager handles each once."""

    standing = models.ForeignKey(Standing, models.CASCADE, related_name="flips")
    data_test = models.ForeignKey(DataTest, models.CASCADE, related_name="flips")
    revision = models.ForeignKey(Revision, models.CASCADE, related_name="+")
    run = models.ForeignKey(Run, models.SET_NULL, null=True, blank=True, related_name="+")
    old = models.CharField(max_length=8, choices=STATES)
    new = models.CharField(max_length=8, choices=STATES)
    waived = models.BooleanField(default=False)
    at = models.DateTimeField()
    handled_at = models.DateTimeField(null=True, blank=True, db_index=True)

    class Meta:
        indexes = [models.Index(fields=("old", "new", "at"))]  # of the warnings that passed in a range

    def __str__(self) -> str:
        return f"{self.old} → {self.new}"


class Alert(Claimable):
    """The notice side of an incident: it opens with its first FAIL and closes only when the incident closes it."""

    dataset = models.ForeignKey(Dataset, models.CASCADE, related_name="alerts")
    category = models.CharField(max_length=20, choices=Category.choices)
    open_key = models.CharField(max_length=190, unique=True, null=True)
    owner = models.CharField(max_length=200)
    opened_at = models.DateTimeField()
    closed_at = models.DateTimeField(null=True, blank=True)
    closing = models.CharField(max_length=20, blank=True)  # how its incident ended
    eta = models.DateTimeField(null=True, blank=True)
    root_cause = models.TextField(blank=True)
    working = models.CharField(max_length=250, blank=True)  # who works on it, or is asked to, as a sentence
    cause = models.ForeignKey("self", models.SET_NULL, null=True, blank=True, related_name="effects")
    evidence = models.JSONField(default=list)  # of a value: what may have caused it, whether it did, and why
    inhibited_at = models.DateTimeField(null=True, blank=True)
    release_after = models.DateTimeField(null=True, blank=True)  # only a broken result measured later releases it
    told_at = models.DateTimeField(null=True, blank=True)
    next_notice_at = models.DateTimeField(null=True, blank=True, db_index=True)  # when to decide about its notices

    def __str__(self) -> str:
        return f"alert {self.pk}: {self.category} of {self.dataset_id}"


class Silence(models.Model):
    """Notices of what it matches are suppressed until it ends; empty fields match all."""

    dataset = models.ForeignKey(Dataset, models.CASCADE, null=True, blank=True, related_name="silences")
    category = models.CharField(max_length=20, blank=True, choices=Category.choices)
    owner = models.CharField(max_length=200, blank=True)
    starts_at = models.DateTimeField()
    ends_at = models.DateTimeField()
    author = models.CharField(max_length=200)
    reason = models.TextField()

    def __str__(self) -> str:
        return f"silence until {self.ends_at:%Y-%m-%d %H:%M}"


class Post(models.Model):
    """Where the message of an alert lives on a channel that can change it; several alerts may share one message."""

    alert = models.ForeignKey(Alert, models.CASCADE, related_name="posts")
    channel = models.CharField(max_length=20)
    recipient = models.CharField(max_length=200)
    place = models.CharField(max_length=190, db_index=True)  # as the channel names it

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=("alert", "channel", "recipient"), name="one_post_per_alert_and_recipient")
        ]

    def __str__(self) -> str:
        return f"alert {self.alert_id} at {self.place}"


class Notice(Claimable):
    """One message to one recipient over one channel: delivered at least once under one key, or suppressed."""

    key = models.CharField(max_length=190, unique=True)
    alert = models.ForeignKey(Alert, models.CASCADE, null=True, blank=True, related_name="notices")
    event = models.CharField(max_length=20)
    channel = models.CharField(max_length=20)
    recipient = models.CharField(max_length=200)
    address = models.CharField(max_length=200, blank=True)  # where the channel reaches them, if not by their name
    subject = models.CharField(max_length=300)
    body = models.TextField()
    html = models.TextField(blank=True)  # for channels that show it, where it says more than the body
    facts = models.JSONField(default=dict)  # what a machine reads of it
    created_at = models.DateTimeField()
    due_at = models.DateTimeField()
    settled_at = models.DateTimeField(null=True, blank=True)  # sent, suppressed, or given up
    sent_at = models.DateTimeField(null=True, blank=True)
    suppressed = models.CharField(max_length=40, blank=True)  # the reason
    sent_with = models.CharField(max_length=190, blank=True, db_index=True)  # key of the first of its message
    failures = models.PositiveIntegerField(default=0)
    error = models.TextField(blank=True)  # of the last try; with settled_at set and no sent_at, a dead letter

    class Meta:
        indexes = [
            models.Index(fields=("settled_at", "due_at")),  # of what is due, in the order of the claims
            models.Index(fields=("recipient", "settled_at", "due_at")),  # of what goes out in one message
        ]

    def __str__(self) -> str:
        return self.key

    @property
    def delivery(self) -> Delivery:
        """What became of it: what went to the log reached nobody."""
        if self.sent_at is not None:
            return Delivery.LOGGED if self.channel == LOG else Delivery.SENT
        if self.suppressed:
            return Delivery.SUPPRESSED
        return Delivery.DUE if self.settled_at is None else Delivery.GIVEN_UP


class Emission(Claimable):
    """A judged run of which a receiver of OpenLineage events is to hear; gone once it has."""

    run = models.OneToOneField(Run, models.CASCADE, related_name="emission")
    due_at = models.DateTimeField(db_index=True)
    failures = models.PositiveIntegerField(default=0)
    error = models.TextField(blank=True)

    def __str__(self) -> str:
        return f"event of run {self.run_id}"
