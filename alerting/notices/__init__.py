"""Who is told what and when: the policy, messages, grouping, silences, and the delivery, at least once.

The ways to reach people are in ``channels``.
"""
