"""The platforms of a release, and the names that each registry has for them."""

import re
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
REPOSITORY = "https://github.com/planwright/planwright"


@dataclass(frozen=True)
class Target:
    """A platform: its Rust target, and its name on npm and PyPI, where it has one."""

    rust: str
    npm: str | None
    wheel: str

    @property
    def is_windows(self) -> bool:
        return "windows" in self.rust

    @property
    def program(self) -> str:
        return "planwright.exe" if self.is_windows else "planwright"


# The static programs run on any Linux, so they are what npm and PyPI ship. PyPI refuses the wheels of the others.
TARGETS = {
    target.rust: target
    for target in [
        Target("x86_64-unknown-linux-gnu", None, "linux_x86_64"),
        Target("aarch64-unknown-linux-gnu", None, "linux_aarch64"),
        Target("x86_64-unknown-linux-musl", "linux-x64", "manylinux_2_17_x86_64.musllinux_1_1_x86_64"),
        Target("aarch64-unknown-linux-musl", "linux-arm64", "manylinux_2_17_aarch64.musllinux_1_1_aarch64"),
        Target("x86_64-apple-darwin", "darwin-x64", "macosx_10_12_x86_64"),
        Target("aarch64-apple-darwin", "darwin-arm64", "macosx_11_0_arm64"),
        Target("x86_64-pc-windows-msvc", "win32-x64", "win_amd64"),
    ]
}

NPM_PLATFORMS = sorted(target.npm for target in TARGETS.values() if target.npm)


def version() -> str:
    """Returns the version of the workspace."""
    manifest = (ROOT / "Cargo.toml").read_text()
    section = manifest.split("[workspace.package]")[1]
    return re.search(r'^version = "(.+)"$', section, re.MULTILINE).group(1)


def licences() -> list[Path]:
    return [ROOT / "LICENSE-APACHE", ROOT / "LICENSE-MIT"]
