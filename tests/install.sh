#!/bin/sh
# Installs into a folder of its own and builds a program outside the tree against it.
# usage: sh tests/install.sh BUILD
set -eu
build=$1
into=$(mktemp -d)
trap 'rm -rf "$into"' EXIT

fail() {
    echo "install: $1" >&2
    exit 1
}

make --no-print-directory -s BUILD="$build" PREFIX="$into/usr" install
for file in bin/guideway lib/libguideway.a lib/pkgconfig/guideway.pc include/guideway/rt/guideway.h \
    include/guideway/drivers/driver.h share/guideway/scenes/paper-plane.json share/man/man1/guideway.1 \
    share/man/man1/guideway-run.1; do
    [ -s "$into/usr/$file" ] || fail "$file is missing"
done

# the installed program needs nothing of the tree
(cd "$into" && ./usr/bin/guideway run free-body --seconds 0.01 >/dev/null) || fail "the installed binary does not run"

# neither does a program that is built against the library
cp examples/steps.c examples/solve.c examples/four_bar.c "$into"
export PKG_CONFIG_PATH="$into/usr/lib/pkgconfig"
for program in steps solve four_bar; do
    (cd "$into" && ${CC:-cc} -std=c17 -Wall -Wextra -Werror $(pkg-config --cflags guideway) "$program.c" \
        $(pkg-config --libs guideway) -o "$program") || fail "examples/$program.c does not compile outside the tree"
    (cd "$into" && "./$program" >/dev/null) || fail "examples/$program.c does not run"
done

# a package: everything below DESTDIR, paths inside as if it were not there
make --no-print-directory -s BUILD="$build" PREFIX=/usr DESTDIR="$into/package" install
[ -x "$into/package/usr/bin/guideway" ] || fail "DESTDIR is not heeded"
grep -q "^Cflags: -I/usr/include/guideway$" "$into/package/usr/lib/pkgconfig/guideway.pc" || fail "the pkg-config file names DESTDIR"
echo "install: binary, library, headers, scenes and manual pages are where they belong"
