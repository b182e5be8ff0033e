"""Who tells batches with errors from sound ones, our judge or its peers: ``python -m benchmarks.novelty``.

What a batch is profiled and judged by is in ``execution_engine``; errors are put in by ``test_generator.challenge``.
"""
