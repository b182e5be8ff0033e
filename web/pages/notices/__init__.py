"""Pages of who is told: mutes, and the answers that people give by the links of a notice.

What is sent, and to whom, is decided in ``alerting``.
"""
