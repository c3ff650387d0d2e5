"""The packages for npm: one with the launcher and the client, and one with the program for each platform."""

import json
import shutil
import subprocess
import tempfile
from pathlib import Path

from targets import NPM_PLATFORMS, ROOT, TARGETS, Target, licences, version

SOURCE = ROOT / "packaging/npm/planwright"


def pack_main(out: Path) -> Path:
    """Packs `planwright`, which depends on the platform packages of the same version."""
    with tempfile.TemporaryDirectory() as folder:
        package = Path(folder) / "package"
        shutil.copytree(SOURCE, package)
        manifest = json.loads((SOURCE / "package.json").read_text())
        manifest["version"] = version()
        manifest["optionalDependencies"] = {f"@planwright/{name}": version() for name in NPM_PLATFORMS}
        return pack(package, manifest, out)


def pack_platform(binary: Path, target: Target, out: Path) -> Path:
    """Packs the program of one platform. npm installs it only there."""
    if target.npm is None:
        names = ", ".join(name for name, known in TARGETS.items() if known.npm)
        raise SystemExit(f"error: npm has no package for `{target.rust}`\n  hint: the targets are {names}")
    system, processor = target.npm.split("-")
    main = json.loads((SOURCE / "package.json").read_text())
    manifest = {
        "name": f"@planwright/{target.npm}",
        "version": version(),
        "description": f"The program of `planwright` for {system} on {processor}.",
        **{field: main[field] for field in ["license", "homepage", "repository"]},
        "os": [system],
        "cpu": [processor],
        "preferUnplugged": True,
        "files": ["bin", "LICENSE-APACHE", "LICENSE-MIT"],
    }
    with tempfile.TemporaryDirectory() as folder:
        package = Path(folder) / "package"
        (package / "bin").mkdir(parents=True)
        shutil.copyfile(binary, package / "bin" / target.program)
        (package / "bin" / target.program).chmod(0o755)
        (package / "README.md").write_text(f"{manifest['description']} Install `planwright`, not this package.\n")
        return pack(package, manifest, out)


def pack(package: Path, manifest: dict, out: Path) -> Path:
    (package / "package.json").write_text(json.dumps(manifest, indent=2) + "\n")
    for path in licences():
        shutil.copy(path, package)
    npm = shutil.which("npm")
    if npm is None:
        raise SystemExit("error: `npm` is not installed")
    line = [npm, "pack", "--json", "--pack-destination", str(out.resolve()), str(package)]
    packed = json.loads(subprocess.run(line, check=True, stdout=subprocess.PIPE).stdout)
    return out / packed[0]["filename"]
