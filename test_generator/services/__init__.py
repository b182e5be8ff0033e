"""Write data tests: those that metadata leads to, and those of users."""

from test_generator.services.data_tests import UnableToWrite, retire, revise, write_data_test
from test_generator.services.generate import reconcile_dataset
from test_generator.services.sync import sync

__all__ = ["UnableToWrite", "reconcile_dataset", "retire", "revise", "sync", "write_data_test"]
