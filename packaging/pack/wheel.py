"""Wheels of `planwright-mcp` with the program as the script `planwright-mcp`."""

import base64
import hashlib
import zipfile
from pathlib import Path

from archive import add_to_zip
from targets import REPOSITORY, ROOT, Target, licences, version

NAME = "planwright_mcp"


def pack_wheel(binary: Path, target: Target, out: Path) -> Path:
    """Packs a wheel with the program alone."""
    info = f"{NAME}-{version()}.dist-info"
    metadata = f"""\
Metadata-Version: 2.4
Name: planwright-mcp
Version: {version()}
Summary: Runs plans of tool calls over MCP servers
License-Expression: MIT OR Apache-2.0
License-File: LICENSE-APACHE
License-File: LICENSE-MIT
Project-URL: Repository, {REPOSITORY}
Keywords: mcp,mcp-server,agent,plan,tools
Requires-Python: >=3.10
Description-Content-Type: text/markdown

{(ROOT / "README.md").read_text()}"""
    tags = "".join(f"Tag: py3-none-{platform}\n" for platform in target.wheel.split("."))
    wheel = f"Wheel-Version: 1.0\nGenerator: planwright\nRoot-Is-Purelib: false\n{tags}"
    files = {f"{info}/METADATA": metadata.encode(), f"{info}/WHEEL": wheel.encode()}
    files |= {f"{info}/licenses/{path.name}": path.read_bytes() for path in licences()}
    path = out / f"{NAME}-{version()}-py3-none-{target.wheel}.whl"
    write(path, files, binary, target)
    return path


def add_program(binary: Path, target: Target, library: Path, out: Path) -> Path:
    """Adds the program to a wheel of the library, so that both are one package."""
    with zipfile.ZipFile(library) as archive:
        files = {name: archive.read(name) for name in archive.namelist() if not name.endswith("/")}
    if not any(name.startswith(f"{NAME}-{version()}.dist-info/") for name in files):
        raise SystemExit(f"error: `{library.name}` is not a wheel of `planwright-mcp` {version()}")
    path = out / library.name
    write(path, files, binary, target)
    return path


def write(path: Path, files: dict[str, bytes], binary: Path, target: Target) -> None:
    record = f"{NAME}-{version()}.dist-info/RECORD"
    script = f"{NAME}-{version()}.data/scripts/planwright-mcp{'.exe' if target.is_windows else ''}"
    files = {name: data for name, data in files.items() if name != record} | {script: binary.read_bytes()}
    lines = [f"{name},sha256={hashed(data)},{len(data)}\n" for name, data in files.items()]
    with zipfile.ZipFile(path, "w") as archive:
        for name, data in files.items():
            add_to_zip(archive, name, data, is_program=name == script)
        add_to_zip(archive, record, "".join([*lines, f"{record},,\n"]).encode())


def hashed(data: bytes) -> str:
    return base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
