"""Packs what a release ships: `python3 packaging/pack KIND …`. Prints the path of each file that it writes."""

import argparse
from pathlib import Path

import archive
import listings
import npm
import site_versions
import wheel
from targets import TARGETS


def main() -> None:
    parser = argparse.ArgumentParser(prog="packaging/pack", description=__doc__)
    kinds = parser.add_subparsers(dest="kind", required=True)
    with_program = {
        "archive": "the program with its licences",
        "npm-platform": "the npm package with the program of one platform",
        "wheel": "the wheel with the program",
        "bundle": "the bundle for MCP clients",
    }
    for kind, text in with_program.items():
        command = kinds.add_parser(kind, help=text)
        command.add_argument("--binary", type=Path, required=True)
        command.add_argument("--target", choices=TARGETS, required=True, metavar="TARGET")
        command.add_argument("--out", type=Path, required=True)
        if kind == "wheel":
            command.add_argument("--into", type=Path, help="a wheel of the library that gets the program")
    for kind, text in {"npm": "the npm package `planwright`", "registry": "the entry in the MCP registry"}.items():
        kinds.add_parser(kind, help=text).add_argument("--out", type=Path, required=True)
    formula = kinds.add_parser("formula", help="the Homebrew formula, from the checksums of the archives")
    formula.add_argument("--archives", type=Path, required=True)
    formula.add_argument("--out", type=Path, required=True)
    kinds.add_parser("checksums", help="the checksums of all files of a folder").add_argument("folder", type=Path)
    site = kinds.add_parser("site", help="the book as a version of the pages of the project")
    site.add_argument("--book", type=Path, required=True)
    site.add_argument("--version", required=True, metavar="X.Y.Z")
    site.add_argument("--into", type=Path, required=True, metavar="FOLDER", help="the folder of all versions")
    given = parser.parse_args()

    if given.kind == "checksums":
        print(archive.write_checksums(given.folder))
        return
    if given.kind == "site":
        print(site_versions.add_version(given.book, given.version, given.into))
        return
    given.out.mkdir(parents=True, exist_ok=True)
    target = TARGETS[given.target] if given.kind in with_program else None
    match given.kind:
        case "archive":
            packed = archive.pack_archive(given.binary, target, given.out)
        case "npm-platform":
            packed = npm.pack_platform(given.binary, target, given.out)
        case "wheel" if given.into:
            packed = wheel.add_program(given.binary, target, given.into, given.out)
        case "wheel":
            packed = wheel.pack_wheel(given.binary, target, given.out)
        case "bundle":
            packed = listings.pack_bundle(given.binary, target, given.out)
        case "npm":
            packed = npm.pack_main(given.out)
        case "registry":
            packed = listings.write_registry_entry(given.out)
        case "formula":
            packed = listings.write_formula(given.archives, given.out)
    print(packed)


main()
