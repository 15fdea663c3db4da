"""``python -m weighbridge`` is the ``weighbridge`` command."""

from weighbridge.cli import main

main()
