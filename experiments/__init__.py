"""The paper's experiments, table by table and figure by figure: ``python -m experiments --help``.

Each module holds one table or figure and uses the public API of weighbridge only. It says which
*cells* of work it needs (`cells`), what their outcomes come to (`values`), how that is shown
(`tables`, `draw`). A cell is a function of `_workers` with its arguments; finished cells are kept
in a file, shared by all modules, and never computed twice.
"""
