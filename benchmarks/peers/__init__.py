"""Other packages under the same jobs: one environment and one process each.

``run_NAME.py`` is what runs inside the environment of a package, and ``_child.py`` what all of them
share; they import nothing of weighbridge (but for ``run_ours.py``) and nothing of each other.
"""
