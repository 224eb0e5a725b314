#!/bin/sh
# Installs header, libraries and the file for pkg-config below a prefix:
#
#     crates/capi/install.sh PREFIX [FOLDER]
#
# with the libraries that were built in a folder, or, if none is given, with those of a release that is built first.
set -eu

if [ $# -lt 1 ] || [ $# -gt 2 ]; then
    echo "usage: $0 PREFIX [FOLDER OF BUILT LIBRARIES]" >&2
    exit 2
fi
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
mkdir -p "$1"
prefix=$(cd "$1" && pwd)

if [ $# -eq 2 ]; then
    built=$2
else
    # Not the library for Rust.
    (cd "$root" && cargo rustc --release --locked --package tailcut-capi --lib --crate-type cdylib,staticlib)
    built=${CARGO_TARGET_DIR:-$root/target}/release
fi
version=$(sed -n '/^\[workspace.package\]/,/^\[/s/^version = "\(.*\)"/\1/p' "$root/Cargo.toml")
abi=$(sed -n 's/^#define TAILCUT_ABI \([0-9]*\)$/\1/p' "$here/include/tailcut.h")

mkdir -p "$prefix/include" "$prefix/lib/pkgconfig"
cp "$here/include/tailcut.h" "$prefix/include/"
cp "$built/libtailcut_capi.a" "$prefix/lib/libtailcut.a"
# A program that runs keeps the library that it has.
cp "$built/libtailcut_capi.so" "$prefix/lib/libtailcut.so.$version.new"
mv "$prefix/lib/libtailcut.so.$version.new" "$prefix/lib/libtailcut.so.$version"
ln -sf "libtailcut.so.$version" "$prefix/lib/libtailcut.so.$abi"
ln -sf "libtailcut.so.$abi" "$prefix/lib/libtailcut.so"
cat >"$prefix/lib/pkgconfig/tailcut.pc" <<EOF
prefix=$prefix
libdir=\${prefix}/lib
includedir=\${prefix}/include

Name: tailcut
Description: A key-value store in memory and on flash, within the process that uses it
Version: $version
Cflags: -I\${includedir}
Libs: -L\${libdir} -ltailcut
Libs.private: -lgcc_s -lpthread -lm -ldl -lc
EOF
