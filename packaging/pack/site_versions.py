"""Versions of the book, as the pages of the project.

Each version is a folder `X.Y`, which the releases `X.Y.Z` replace. Everything beside these folders is made from them: `versions.json`, which the menu of
versions reads, and for each page a redirect to the newest version that has it, so that the address of a page without a version stays good. Only files
that begin with a dot, and `CNAME`, are left alone.
"""

import html
import json
import re
import shutil
from pathlib import Path

# The redirect. Only a script can see the query and the anchor of an address; without scripts, they are lost.
REDIRECT = """<!DOCTYPE html>
<html lang="en">
<meta charset="utf-8">
<title>Planwright</title>
<link rel="canonical" href="{target}">
<script>location.replace("{target}" + location.search + location.hash)</script>
<noscript><meta http-equiv="refresh" content="0; url={target}"></noscript>
<p><a href="{target}">This page in version {version}</a></p>
</html>
"""
# Pages that are no addresses of readers: mdBook's answer to a wrong address, and the table of contents for browsers without scripts.
INTERNAL = {"404.html", "toc.html"}


def add_version(book: Path, version: str, site: Path) -> Path:
    """Puts a version of the book into the folder of all versions, and returns its folder there."""
    found = re.fullmatch(r"(\d+\.\d+)\.\d+", version)
    if not found:
        raise SystemExit(f"`{version}` is not the version of a release, such as 1.2.3")
    if not (book / "index.html").is_file():
        raise SystemExit(f"`{book}` is no book: it has no `index.html`")
    site.mkdir(parents=True, exist_ok=True)
    folder = site / found[1]
    if folder.exists():
        shutil.rmtree(folder)
    shutil.copytree(book, folder)
    versions = [path.name for path in site.iterdir() if path.is_dir() and re.fullmatch(r"\d+\.\d+", path.name)]
    versions.sort(key=lambda name: [int(part) for part in name.split(".")], reverse=True)
    remove_others(site, versions)
    (site / ".nojekyll").touch()
    (site / "versions.json").write_text(json.dumps(versions) + "\n", encoding="utf-8")
    write_redirects(site, versions)
    return folder


def remove_others(site: Path, versions: list[str]) -> None:
    """Removes what earlier versions of this script wrote beside the versions."""
    for path in site.iterdir():
        if path.name in versions or path.name.startswith(".") or path.name == "CNAME":
            continue
        if path.is_dir():
            shutil.rmtree(path)
        else:
            path.unlink()


def write_redirects(site: Path, versions: list[str]) -> None:
    """Writes a redirect for each page of any version, to the newest version that has the page."""
    for version in reversed(versions):
        for page in sorted((site / version).rglob("*.html")):
            path = page.relative_to(site / version)
            if path.as_posix() in INTERNAL:
                continue
            target = "../" * (len(path.parts) - 1) + f"{version}/{path.as_posix()}"
            redirect = site / path
            redirect.parent.mkdir(parents=True, exist_ok=True)
            redirect.write_text(REDIRECT.format(target=html.escape(target), version=version), encoding="utf-8")
