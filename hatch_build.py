"""What the metadata of a build gets from outside: the README, and the addresses of the project.

The project's address is known only where it is hosted. ``WEIGHBRIDGE_HOME`` names it, say by the
workflow that publishes; then the metadata has links, and the relative links of the README, which
only a checkout can follow, become absolute. ``WEIGHBRIDGE_DOCS`` names the site, if there is one.
Without them nothing is claimed.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from hatchling.metadata.plugin.interface import MetadataHookInterface

# [text](docs/page.rst) and ![text](docs/picture.png), but neither a whole address nor #a-heading
RELATIVE = re.compile(r"(?P<head>!?\[[^\]]*\]\()(?!\w+:|#|/)(?P<path>[^)\s]+)(?P<tail>[^)]*\))")


def address(text: str, name: str) -> str:
    """Return an https address without the slash at its end, or nothing for nothing."""
    if text and (urlsplit(text).scheme != "https" or not urlsplit(text).netloc):
        raise ValueError(f"Got {name}={text!r}, but expected an address such as https://host/name.")
    return text.rstrip("/")


def urls(home: str, docs: str = "") -> dict[str, str]:
    """Return the links of the project; nobody has a link without a home."""
    if not home:
        return {"Documentation": docs} if docs else {}
    return {
        "Homepage": docs or home,
        "Documentation": docs or f"{home}/tree/HEAD/docs",
        "Source": home,
        "Issues": f"{home}/issues",
        "Changelog": f"{home}/blob/HEAD/CHANGELOG.md",
    }


def absolute(text: str, home: str, ref: str = "HEAD") -> str:
    """Return a README whose relative links and pictures name files of the hosted repository."""
    if not home:
        return text

    def full(link: re.Match[str]) -> str:
        kind = "raw" if link["head"].startswith("!") else "blob"
        return f"{link['head']}{home}/{kind}/{ref}/{link['path']}{link['tail']}"

    # in a fenced block, brackets are code
    parts = re.split(r"(^```.*?^```$)", text, flags=re.DOTALL | re.MULTILINE)
    return "".join(part if part.startswith("```") else RELATIVE.sub(full, part) for part in parts)


def badged(text: str, home: str) -> str:
    """Return a README with the state of the tests below its title."""
    if not home:
        return text
    workflow = f"{home}/actions/workflows/ci.yml"
    title, _, rest = text.partition("\n")
    return f"{title}\n\n[![Tests]({workflow}/badge.svg)]({workflow})\n{rest}"


class CustomMetadataHook(MetadataHookInterface):
    """Fills ``readme`` and ``urls``, which pyproject.toml calls dynamic."""

    def update(self, metadata: dict[str, Any]) -> None:
        home, docs = (
            address(os.environ.get(name, ""), name)
            for name in ("WEIGHBRIDGE_HOME", "WEIGHBRIDGE_DOCS")
        )
        text = (Path(self.root) / "README.md").read_text(encoding="utf-8")
        ref = os.environ.get("WEIGHBRIDGE_REF") or "HEAD"
        metadata["readme"] = {
            "content-type": "text/markdown",
            "text": badged(absolute(text, home, ref), home),
        }
        if links := urls(home, docs):
            metadata["urls"] = links
