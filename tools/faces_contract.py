"""A contract of import-linter: a sub-package is imported by its face, never by its modules."""

from __future__ import annotations

from typing import Any

from importlinter import Contract, ContractCheck, fields, output


class FacesContract(Contract):
    """Nobody imports a module that lies inside a sub-package of which it is not a member."""

    type_name = "faces"

    package = fields.StringField()

    def check(self, graph: Any, verbose: bool) -> ContractCheck:
        """List imports past a face, as (importer, imported)."""
        past = []
        for imported in sorted(graph.find_descendants(self.package)):
            parent = imported.rpartition(".")[0]
            if parent == self.package:
                continue
            for importer in sorted(graph.find_modules_that_directly_import(imported)):
                if not f"{importer}.".startswith(f"{parent}."):
                    past.append((importer, imported))
        return ContractCheck(kept=not past, metadata={"past": past})

    def render_broken_contract(self, check: ContractCheck) -> None:
        """Name every import past a face."""
        for importer, imported in check.metadata["past"]:
            output.print_error(f"{importer} imports {imported}, past the face of its package.")
