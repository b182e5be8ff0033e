"""What pipelines ask of tests."""

from django.db import models

from .catalog import Dataset


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
