"""What lives in a home of its own: importing any of it sets Django up."""

import django

django.setup()
