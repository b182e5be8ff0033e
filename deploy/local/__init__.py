"""The service of compose.yaml on this machine without Docker, from Debian's packages: ``python -m deploy.local``."""
