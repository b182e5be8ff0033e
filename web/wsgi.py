"""The WSGI application that gunicorn serves, warm before its first request."""

import os

from django.core.wsgi import get_wsgi_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "assay.settings")
application = get_wsgi_application()

from .warm import warm_up  # noqa: E402 - its models need the settings above

warm_up()
