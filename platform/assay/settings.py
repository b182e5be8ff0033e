"""Django's settings, built from the environment by ``assay.config``."""

from pathlib import Path
from typing import Any

import dj_database_url
from csp.constants import NONE, SELF

from assay.edge.logs import configure_logs

from .config import config, merged

CONFIG = config()
configure_logs(level=CONFIG.log_level, as_json=CONFIG.log_json)
LOGGING_CONFIG = None

SECRET_KEY = CONFIG.django_secret_key()
DEBUG = CONFIG.debug
ALLOWED_HOSTS = CONFIG.allowed_hosts

INSTALLED_APPS = [
    "web",  # first: its texts come before those of Django
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.staticfiles",
    "rest_framework",
    "knox",
    "drf_spectacular",
    "drf_spectacular_sidecar",
    "csp",
    "assay",
    "execution_engine",
    "test_generator",
    "alerting",
    "incident_manager",
]

MIDDLEWARE = [
    "web.access.middleware.RequestIds",
    "django.middleware.security.SecurityMiddleware",
    "csp.middleware.CSPMiddleware",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "web.access.middleware.BrowserAnswers",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "web.pages.page_policy.PageLanguage",
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
                "web.pages.page_policy.replay",
                "web.pages.admin.admin_link",
                "web.pages.reports.waiting",
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
        parsed |= {"CONN_MAX_AGE": 60, "CONN_HEALTH_CHECKS": True}  # a new one costs more than what most requests ask
        options |= {"charset": "utf8mb4", "isolation_level": "read committed"}
        options["init_command"] = "SET time_zone = '+00:00', innodb_lock_wait_timeout = 30"
    return parsed


DATABASES = {"default": database(CONFIG.database)}
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
USE_TZ = True
TIME_ZONE = "UTC"
LANGUAGE_CODE = "en"  # of all that is no page: the API, commands, notices
LANGUAGES = [("en", "English"), ("de", "Deutsch")]
FORMAT_MODULE_PATH = "web.locale"
STATIC_URL = "static/"
WHITENOISE_USE_FINDERS = True  # served from the packages: nothing need be collected first
LOGIN_URL = "login"
LOGIN_REDIRECT_URL = "catalogue"

AUTHENTICATION_BACKENDS = ["web.access.logins.CountingBackend"]
CACHES = {"default": {"BACKEND": "django.core.cache.backends.locmem.LocMemCache", "OPTIONS": {"MAX_ENTRIES": 20_000}}}
KNOX_TOKEN_MODEL = "assay.AccessToken"
DATA_UPLOAD_MAX_MEMORY_SIZE = CONFIG.body_bytes

IS_HTTPS = CONFIG.public_url.startswith("https://")
COOKIE_PREFIX = "__Host-" if IS_HTTPS else ""  # by which browsers take them of no other host, nor without TLS
SESSION_COOKIE_NAME = f"{COOKIE_PREFIX}sessionid"
CSRF_COOKIE_NAME = f"{COOKIE_PREFIX}csrftoken"
SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = IS_HTTPS
SESSION_COOKIE_HTTPONLY = CSRF_COOKIE_HTTPONLY = True
LANGUAGE_COOKIE_NAME = f"{COOKIE_PREFIX}language"
LANGUAGE_COOKIE_AGE = 365 * 24 * 3600
LANGUAGE_COOKIE_SAMESITE = "Lax"
LANGUAGE_COOKIE_SECURE = IS_HTTPS
LANGUAGE_COOKIE_HTTPONLY = True
SECURE_HSTS_SECONDS = 365 * 24 * 3600 if IS_HTTPS else 0
SECURE_REFERRER_POLICY = "same-origin"
X_FRAME_OPTIONS = "DENY"
CONTENT_SECURITY_POLICY = {
    "DIRECTIVES": {
        "default-src": [SELF],
        "img-src": [SELF, "data:"],
        "object-src": [NONE],
        "base-uri": [NONE],
        "form-action": [SELF],
        "frame-ancestors": [NONE],
    }
}

REST_FRAMEWORK = {
    "DEFAULT_AUTHENTICATION_CLASSES": [
        "web.access.tokens.TokenAuthentication",
        "rest_framework.authentication.SessionAuthentication",
    ],
    "DEFAULT_PERMISSION_CLASSES": ["rest_framework.permissions.IsAuthenticated"],
    "DEFAULT_PAGINATION_CLASS": "rest_framework.pagination.LimitOffsetPagination",
    "DEFAULT_RENDERER_CLASSES": ["rest_framework.renderers.JSONRenderer"],
    "DEFAULT_SCHEMA_CLASS": "web.api.openapi.Described",
    "EXCEPTION_HANDLER": "web.api.problems.answer_error",
    "DEFAULT_THROTTLE_CLASSES": ["web.access.throttles.ByCost"],
    "DEFAULT_THROTTLE_RATES": merged(CONFIG.rates),
    "NUM_PROXIES": CONFIG.proxies,
    "PAGE_SIZE": 100,
}
SPECTACULAR_SETTINGS = {
    "TITLE": "Assay",
    "DESCRIPTION": "May this data be used, what is wrong with it, and who knows? docs/api.md has the whole story.",
    "VERSION": "1",
    "OAS_VERSION": "3.1.1",
    "SCHEMA_PATH_PREFIX": "/api/v1",
    "ENUM_NAME_OVERRIDES": {
        "IncidentKindEnum": "incident_manager.models.EntryKind",
        "QualityStatusEnum": "web.api.gate.STATUSES",
        "ResolutionEnum": "incident_manager.models.Resolution",
        "WaiverScopeEnum": "web.api.incidents.WAIVER_SCOPES",
        "OfferStateEnum": "test_generator.models.OfferState",
        "ReportStateEnum": "incident_manager.models.ReportState",
    },
    "SERVE_INCLUDE_SCHEMA": False,
    "SWAGGER_UI_DIST": "SIDECAR",  # from this host, as the content security policy wants
    "SWAGGER_UI_SETTINGS": {"deepLinking": True, "validatorUrl": None},
    "POSTPROCESSING_HOOKS": [
        "drf_spectacular.hooks.postprocess_schema_enums",
        "web.api.openapi.only_known_names",
    ],
}
