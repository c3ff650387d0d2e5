#!/bin/sh
# Installs the program planwright from a release, after it has compared the checksum.
set -eu

releases="https://github.com/planwright/planwright/releases"

usage() {
    cat <<'USAGE'
usage: install.sh [--prefix FOLDER] [--version VERSION] [--target TARGET] [--from URL]

  --prefix FOLDER    install into FOLDER/bin; default: ~/.local
  --version VERSION  install this version, such as 0.1.0; default: the newest
  --target TARGET    install the program for this platform, such as aarch64-apple-darwin; default: that of this machine
  --from URL         download from this folder instead of the releases
  --help             print this text
USAGE
}

fail() {
    printf 'error: %s\n' "$1" >&2
    [ $# -lt 2 ] || printf '  hint: %s\n' "$2" >&2
    exit 1
}

value() {
    [ $# -ge 2 ] || fail "\`$1\` needs a value" "see install.sh --help"
    printf '%s' "$2"
}

prefix="${HOME:-}/.local"
version=""
target=""
from=""
while [ $# -gt 0 ]; do
    case "$1" in
        --prefix)
            prefix=$(value "$@")
            shift
            ;;
        --version)
            version=$(value "$@")
            shift
            ;;
        --target)
            target=$(value "$@")
            shift
            ;;
        --from)
            from=$(value "$@")
            shift
            ;;
        --help | -h)
            usage
            exit 0
            ;;
        *) fail "there is no option \`$1\`" "see install.sh --help" ;;
    esac
    shift
done

this_target() {
    system=$(uname -s)
    processor=$(uname -m)
    case "$processor" in
        x86_64 | amd64) processor=x86_64 ;;
        arm64 | aarch64) processor=aarch64 ;;
        *) fail "there is no program for the processor \`$processor\`" "cargo install planwright-cli" ;;
    esac
    case "$system" in
        # The static program runs with any C library.
        Linux) printf '%s-unknown-linux-musl' "$processor" ;;
        Darwin) printf '%s-apple-darwin' "$processor" ;;
        *) fail "there is no program for the system \`$system\`" "on Windows use install.ps1, elsewhere cargo install planwright-cli" ;;
    esac
}

download() {
    if command -v curl >/dev/null; then
        curl --fail --silent --show-error --location --output "$2" "$1" || fail "\`$1\` cannot be downloaded"
    elif command -v wget >/dev/null; then
        wget -q -O "$2" "$1" || fail "\`$1\` cannot be downloaded"
    else
        fail "neither \`curl\` nor \`wget\` is installed"
    fi
}

checksum() {
    if command -v sha256sum >/dev/null; then
        sha256sum "$1" | cut -d ' ' -f 1
    elif command -v shasum >/dev/null; then
        shasum -a 256 "$1" | cut -d ' ' -f 1
    else
        fail "neither \`sha256sum\` nor \`shasum\` is installed, so the download cannot be verified"
    fi
}

# The whole script is read before it starts, also from a pipe that breaks off.
main() {
    [ -n "$target" ] || target=$(this_target)
    if [ -z "$from" ] && [ -n "$version" ]; then
        from="$releases/download/v${version#v}"
    elif [ -z "$from" ]; then
        from="$releases/latest/download"
    fi
    archive="planwright-$target.tar.gz"
    folder=$(mktemp -d)
    trap 'rm -rf "$folder"' EXIT
    trap 'exit 1' HUP INT TERM

    download "$from/SHA256SUMS" "$folder/SHA256SUMS"
    wanted=$(awk -v name="$archive" '$2 == name { print $1 }' "$folder/SHA256SUMS")
    [ -n "$wanted" ] || fail "the release has no \`$archive\`"
    download "$from/$archive" "$folder/$archive"
    found=$(checksum "$folder/$archive")
    [ "$found" = "$wanted" ] || fail "\`$archive\` has the checksum $found instead of $wanted, so nothing was installed"

    tar -x -z -f "$folder/$archive" -C "$folder"
    mkdir -p "$prefix/bin"
    # A running program is replaced as a whole, and a failure leaves the earlier one.
    cp "$folder/planwright-$target/planwright" "$prefix/bin/.planwright.$$"
    chmod 755 "$prefix/bin/.planwright.$$"
    mv -f "$prefix/bin/.planwright.$$" "$prefix/bin/planwright"
    "$prefix/bin/planwright" --version || fail "\`$prefix/bin/planwright\` does not start on this machine"
    echo "installed as $prefix/bin/planwright"
    case ":$PATH:" in
        *":$prefix/bin:"*) ;;
        *) echo "  hint: add $prefix/bin to PATH" ;;
    esac
}

main
