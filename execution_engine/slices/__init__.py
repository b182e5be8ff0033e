"""The slice of a table behind a broken window: what is read to find it, and how. What explains it is ``attribution``.

When it is looked for, and who sees it, is alerting's and the incident manager's."""
