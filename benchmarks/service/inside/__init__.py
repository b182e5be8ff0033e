"""What is run beside a database: importing any of it sets Django up."""

import django

django.setup()
