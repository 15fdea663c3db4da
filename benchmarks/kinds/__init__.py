"""The kinds of shift: are they told apart, and is what is done about them right?

`problems.py` simulates shifts of a known kind, `sets.py` makes class frequencies change on natural
sets, `peers/` runs QuaPy and skada in environments of their own. Constants are chosen on the half
`choose` (even numbers, hashes of names, seeds 100 to 149); the half `report` is run once.

    python -m benchmarks.kinds.sets SETS --tasks TASKS        # sets as .npz
    python -m benchmarks.kinds.run frequencies --half choose --sets SETS --out OUT --export
    QUAPY/bin/python benchmarks/kinds/peers/run_quapy.py OUT
    SKADA/bin/python benchmarks/kinds/peers/run_skada.py OUT --half choose
    python -m benchmarks.kinds.run all --half choose --sets SETS --tasks TASKS --out OUT

`summary.py` defines the figures; OUT gets kinds_PART_HALF.json with versions.
"""
