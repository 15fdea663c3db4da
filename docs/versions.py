"""List the versions of a hosted site for the menu of its top bar.

``python docs/versions.py SITE HOME``: SITE is the folder with one folder per version, and HOME its
address, or the path of it on its host ("/weighbridge/"). Writes SITE/switcher.json, which every
version reads, so that old pages know of new versions. The newest release is the preferred one.
"""

import json
import re
import sys
from pathlib import Path

RELEASE = re.compile(r"\d+(\.\d+)*")


def versions(site, home):
    """Return the entries of the menu, the newest release first and other versions last."""
    names = [each.parent.name for each in Path(site).glob("*/index.html")]
    releases = sorted(filter(RELEASE.fullmatch, names), key=_parts, reverse=True)
    others = sorted(set(names) - set(releases))
    home = home.rstrip("/")
    return [
        {"name": name, "version": name, "url": f"{home}/{name}/", "preferred": name == newest}
        for newest in [next(iter(releases), None)]
        for name in [*releases, *others]
    ]


def _parts(name):
    return [int(each) for each in name.split(".")]


def main():
    """Write the file."""
    site, home = sys.argv[1:]
    text = json.dumps(versions(site, home), indent=1)
    Path(site, "switcher.json").write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
