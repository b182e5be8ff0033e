"""How fast the service stays with the rows of years: a private MariaDB, filled in bulk, and real HTTP."""
