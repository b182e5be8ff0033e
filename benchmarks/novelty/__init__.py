"""How well batches with errors are told from sound ones, by our judge and by its peers: ``python -m benchmarks.novelty``.

What a batch is profiled and judged by is in ``execution_engine``; errors are put in by ``test_generator.challenge``.
"""
