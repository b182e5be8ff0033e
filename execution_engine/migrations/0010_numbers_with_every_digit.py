"""Reads assertions with long numbers again: their trees kept them as floats, which lost the last digits."""

from django.db import migrations

from execution_engine.language.parsing.parse import UnableToParse
from execution_engine.language.parsing.parse import parse
from execution_engine.language.serialise import to_json


def read_again(apps, schema_editor):  # type: ignore[no-untyped-def]
    """What is no assertion any more stays as it was."""
    revisions = apps.get_model("assay", "Revision").objects.filter(assertion__regex="[0-9]{16}")
    for revision in revisions.iterator():
        try:
            revision.tree = to_json(parse(revision.assertion))
        except UnableToParse:
            continue
        revision.save(update_fields=["tree"])


class Migration(migrations.Migration):
    dependencies = [
        ("assay", "0001_initial"),
        ("execution_engine", "0009_exact_values"),
    ]

    operations = [migrations.RunPython(read_again, migrations.RunPython.noop)]
