"""What all commands share: ``assay`` itself, the base of a command, tables on a terminal, exit codes.

Each command is in ``management/commands`` of the package that it belongs to.
"""
