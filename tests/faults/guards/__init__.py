"""Whether each fault experiment fails once what it guards is taken out of the code: ``make guards``."""
