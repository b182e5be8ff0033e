"""Where the world touches Assay: addresses it may call, texts it may print, and its logs.

Requests are answered in ``web``; notices are sent in ``alerting.channels``.
"""
