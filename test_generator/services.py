"""Write data tests: those that metadata leads to, and those of users."""

from test_generator.generation.generate import reconcile_datasets

from .data_tests import UnableToUseStore, UnableToWrite, draft, not_edited, retire, revise, write_data_test
from .offers import (
    UnableToDecide,
    UnableToSuggest,
    accept_adjusted,
    accept_suggestion,
    ask_for_suggestions,
    reject_suggestion,
    suggest_due,
    take_back_rejection,
)
from .pulls import note_read, plan_telling, provider_named, pull_due, sync_telling
from .sync import remove_source, sync, sync_files
