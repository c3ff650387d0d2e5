"""Archives of the program, and the list of checksums."""

import hashlib
import io
import tarfile
import zipfile
from pathlib import Path

from targets import ROOT, Target, licences

# The same input gives the same bytes: files have the earliest time that a zip archive can express.
ZIP_TIME = (1980, 1, 1, 0, 0, 0)
TAR_TIME = 315532800


def add_to_zip(archive: zipfile.ZipFile, name: str, data: bytes, is_program: bool = False) -> None:
    """Adds a file with the permissions of Unix, which `ZipFile.write` takes from the disk."""
    entry = zipfile.ZipInfo(name, ZIP_TIME)
    entry.compress_type = zipfile.ZIP_DEFLATED
    entry.create_system = 3
    entry.external_attr = (0o100755 if is_program else 0o100644) << 16
    archive.writestr(entry, data)


def pack_archive(binary: Path, target: Target, out: Path) -> Path:
    """Packs the program with its licences: a zip archive for Windows, else a compressed tar archive."""
    folder = f"planwright-{target.rust}"
    files = [(target.program, binary, True)]
    files += [(path.name, path, False) for path in [*licences(), ROOT / "README.md"]]
    if target.is_windows:
        path = out / f"{folder}.zip"
        with zipfile.ZipFile(path, "w") as archive:
            for name, source, is_program in files:
                add_to_zip(archive, f"{folder}/{name}", source.read_bytes(), is_program)
        return path
    path = out / f"{folder}.tar.gz"
    with tarfile.open(path, "w:gz", compresslevel=6) as archive:
        for name, source, is_program in files:
            entry = tarfile.TarInfo(f"{folder}/{name}")
            data = source.read_bytes()
            entry.size, entry.mtime = len(data), TAR_TIME
            entry.mode = 0o755 if is_program else 0o644
            archive.addfile(entry, io.BytesIO(data))
    return path


def digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def write_checksums(folder: Path) -> Path:
    """Writes `SHA256SUMS` for all files of a folder, in the form that `sha256sum --check` reads."""
    sums = folder / "SHA256SUMS"
    files = sorted(path for path in folder.iterdir() if path.is_file() and path != sums)
    sums.write_text("".join(f"{digest(path)}  {path.name}\n" for path in files))
    return sums
