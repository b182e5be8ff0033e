"""Write data tests: those that metadata leads to, and those of users."""

from test_generator.data_tests.services import UnableToWrite, draft, retire, revise, write_data_test
from test_generator.generation.generate import reconcile_dataset
from test_generator.sync.catalog_files import sync_files
from test_generator.sync.scheduled_pull import pull_due
from test_generator.sync.services import remove_source, sync

__all__ = [
    "UnableToWrite",
    "draft",
    "pull_due",
    "reconcile_dataset",
    "remove_source",
    "retire",
    "revise",
    "sync",
    "sync_files",
    "write_data_test",
]
