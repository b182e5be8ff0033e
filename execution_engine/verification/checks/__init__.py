"""What a user writes: ``Check`` and its methods, by what they are about.

What a method adds is a constraint; how it is judged is in ``constraints``.
"""
