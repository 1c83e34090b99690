#!/bin/sh
# Installs redgreen @VERSION@: downloads the archive for this machine, checks its SHA-256, and puts the program into a
# folder. It needs curl or wget, tar, and sha256sum or shasum. It asks nothing, needs no root, and changes no other file.
#
#   REDGREEN_INSTALL_DIR   the folder for the program [default: ~/.local/bin]
#   REDGREEN_DOWNLOAD_URL  where the archives are [default: the release on GitHub]
set -eu

version='@VERSION@'
url=${REDGREEN_DOWNLOAD_URL:-https://github.com/@REPOSITORY@/releases/download/v$version}
folder=${REDGREEN_INSTALL_DIR:-${HOME:?is not set}/.local/bin}

say() { printf 'redgreen: %s\n' "$*" >&2; }

die() {
    say "$@"
    exit 1
}

has() { command -v "$1" >/dev/null 2>&1; }

target() {
    case $(uname -s) in
    Linux) system=unknown-linux-musl ;;
    Darwin) system=apple-darwin ;;
    *) die "there is no program for $(uname -s); on Windows, use WSL" ;;
    esac
    case $(uname -m) in
    x86_64 | amd64) processor=x86_64 ;;
    aarch64 | arm64) processor=aarch64 ;;
    *) die "there is no program for $(uname -m); build it: cargo install redgreen" ;;
    esac
    printf '%s-%s\n' "$processor" "$system"
}

download() {
    if has curl; then
        # Only TLS, except for a server on this machine.
        case $1 in
        http://127.0.0.1:* | http://localhost:*) curl -fsSL --retry 2 -o "$2" "$1" ;;
        *) curl -fsSL --retry 2 --proto '=https' --tlsv1.2 -o "$2" "$1" ;;
        esac
    elif has wget; then
        wget -q -O "$2" "$1"
    else
        die "needs curl or wget"
    fi || die "cannot download $1"
}

checksum() {
    if has sha256sum; then sha256sum "$1"; else shasum -a 256 "$1"; fi | cut -d ' ' -f 1
}

# A function, so that an incomplete download of this script runs nothing.
main() {
    has tar || die "needs tar"
    has sha256sum || has shasum || die "needs sha256sum or shasum"
    name="redgreen-$version-$(target)"
    work=$(mktemp -d)
    trap 'rm -rf "$work"' EXIT
    download "$url/$name.tar.gz" "$work/archive"
    download "$url/SHA256SUMS" "$work/sums"
    expected=$(sed -n "s/^\([0-9a-f]\{64\}\) [ *]$name\.tar\.gz\$/\1/p" "$work/sums")
    [ -n "$expected" ] || die "SHA256SUMS does not list $name.tar.gz"
    actual=$(checksum "$work/archive")
    [ "$actual" = "$expected" ] || die "wrong checksum of $name.tar.gz: expected $expected, got $actual; nothing was installed"
    tar -xzf "$work/archive" -C "$work" "$name/redgreen"
    mkdir -p "$folder"
    # A rename also replaces a running program.
    cp "$work/$name/redgreen" "$folder/.redgreen.new"
    chmod 755 "$folder/.redgreen.new"
    mv -f "$folder/.redgreen.new" "$folder/redgreen"
    say "installed $("$folder/redgreen" --version) in $folder"
    case ":$PATH:" in
    *":$folder:"*) say "next: redgreen demo" ;;
    *) say "next: add it to your PATH: export PATH=\"$folder:\$PATH\"" ;;
    esac
}

main
