"""The bundle for MCP clients, the entry in the MCP registry, and the Homebrew formula."""

import json
import zipfile
from pathlib import Path

from archive import add_to_zip
from targets import REPOSITORY, ROOT, TARGETS, Target, licences, version


def pack_bundle(binary: Path, target: Target, out: Path) -> Path:
    """Packs a bundle (`.mcpb`), which a client installs by a click."""
    if target.npm is None:
        raise SystemExit(f"error: there is no bundle for `{target.rust}`: the static program serves all of Linux")
    manifest = json.loads((ROOT / "packaging/mcpb/manifest.json").read_text())
    manifest["version"] = version()
    manifest["server"]["entry_point"] = f"server/{target.program}"
    manifest["server"]["mcp_config"]["command"] = "${__dirname}/server/" + target.program
    manifest["compatibility"] = {"platforms": [target.npm.split("-")[0]]}
    path = out / f"planwright-{target.npm}.mcpb"
    with zipfile.ZipFile(path, "w") as archive:
        add_to_zip(archive, "manifest.json", (json.dumps(manifest, indent=2) + "\n").encode())
        add_to_zip(archive, f"server/{target.program}", binary.read_bytes(), is_program=True)
        for licence in licences():
            add_to_zip(archive, licence.name, licence.read_bytes())
    return path


def write_registry_entry(out: Path) -> Path:
    """Writes `server.json` with the version of the workspace."""
    entry = json.loads((ROOT / "packaging/registry/server.json").read_text())
    text = json.dumps(entry, indent=2).replace("VERSION", version())
    path = out / "server.json"
    path.write_text(text + "\n")
    return path


def write_formula(archives: Path, out: Path) -> Path:
    """Writes the Homebrew formula from the checksums of the archives."""
    lines = (archives / "SHA256SUMS").read_text().splitlines()
    sums = {name: digest for digest, name in (line.split("  ", 1) for line in lines)}
    text = (ROOT / "packaging/homebrew/planwright.rb").read_text().replace("VERSION", version())
    for name in TARGETS:
        archive = f"planwright-{name}.tar.gz"
        if f"SHA256 {name}" in text:
            if archive not in sums:
                raise SystemExit(f"error: `SHA256SUMS` has no `{archive}`")
            text = text.replace(f"SHA256 {name}", sums[archive])
    path = out / "planwright.rb"
    path.write_text(text.replace("REPOSITORY", REPOSITORY))
    return path
