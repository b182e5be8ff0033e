"""Django's settings, built from the environment by ``assay.config``."""

from pathlib import Path
from typing import Any

import dj_database_url
import django_stubs_ext

from assay.config import config
from assay.logs import configure_logs

django_stubs_ext.monkeypatch()

CONFIG = config()
configure_logs(level=CONFIG.log_level, as_json=CONFIG.log_json)
LOGGING_CONFIG = None

SECRET_KEY = CONFIG.django_secret_key()
DEBUG = CONFIG.debug
ALLOWED_HOSTS = CONFIG.allowed_hosts

INSTALLED_APPS = [
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.staticfiles",
    "rest_framework",
    "knox",
    "drf_spectacular",
    "assay",
    "execution_engine",
    "test_generator",
    "alerting",
    "incident_manager",
    "web",
]

MIDDLEWARE = [
    "django.middleware.security.SecurityMiddleware",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
]

ROOT_URLCONF = "web.urls"
WSGI_APPLICATION = "web.wsgi.application"
TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
            ]
        },
    }
]


def database(url: str) -> dict[str, Any]:
    """Django's entry for a database URL: SQLite in WAL mode with immediate transactions, or MySQL/MariaDB."""
    parsed: dict[str, Any] = dict(dj_database_url.parse(url))
    options = parsed.setdefault("OPTIONS", {})
    if parsed["ENGINE"].endswith("sqlite3"):
        Path(parsed["NAME"]).parent.mkdir(parents=True, exist_ok=True)
        options |= {
            "transaction_mode": "IMMEDIATE",
            "timeout": 30,
            "init_command": "PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL;",
        }
    else:
        options |= {"charset": "utf8mb4", "isolation_level": "read committed"}
        options["init_command"] = "SET time_zone = '+00:00', innodb_lock_wait_timeout = 30"
    return parsed


DATABASES = {"default": database(CONFIG.database)}
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
USE_TZ = True
TIME_ZONE = "UTC"
STATIC_URL = "static/"
WHITENOISE_USE_FINDERS = True  # served from the packages: nothing need be collected first
LOGIN_URL = "login"
LOGIN_REDIRECT_URL = "catalogue"

REST_FRAMEWORK = {
    "DEFAULT_AUTHENTICATION_CLASSES": [
        "knox.auth.TokenAuthentication",
        "rest_framework.authentication.SessionAuthentication",
    ],
    "DEFAULT_PERMISSION_CLASSES": ["rest_framework.permissions.IsAuthenticated"],
    "DEFAULT_PAGINATION_CLASS": "rest_framework.pagination.LimitOffsetPagination",
    "DEFAULT_RENDERER_CLASSES": ["rest_framework.renderers.JSONRenderer"],
    "DEFAULT_SCHEMA_CLASS": "drf_spectacular.openapi.AutoSchema",
    "PAGE_SIZE": 100,
}
SPECTACULAR_SETTINGS = {"TITLE": "Assay", "VERSION": "1", "SERVE_INCLUDE_SCHEMA": False}
