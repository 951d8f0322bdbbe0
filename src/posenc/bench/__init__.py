"""Timings: ratios within one run, medians of interleaved rounds, correctness before speed."""
