"""Write data tests: those that metadata leads to, and those of users."""

from test_generator.data_tests.services import UnableToWrite, draft, not_edited, retire, revise, write_data_test
from test_generator.generation.generate import reconcile_dataset
from test_generator.offers.read_past import suggest_due
from test_generator.offers.services import (
    UnableToDecide,
    UnableToSuggest,
    accept_adjusted,
    accept_suggestion,
    ask_for_suggestions,
    reject_suggestion,
    take_back_rejection,
)
from test_generator.sync.catalog_files import sync_files
from test_generator.sync.scheduled_pull import pull_due
from test_generator.sync.services import remove_source, sync

__all__ = [
    "UnableToDecide",
    "UnableToSuggest",
    "UnableToWrite",
    "accept_adjusted",
    "accept_suggestion",
    "ask_for_suggestions",
    "draft",
    "not_edited",
    "pull_due",
    "reconcile_dataset",
    "reject_suggestion",
    "remove_source",
    "retire",
    "revise",
    "suggest_due",
    "sync",
    "sync_files",
    "take_back_rejection",
    "write_data_test",
]
