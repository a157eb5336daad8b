# Installs what is missing. Each argument is `command:NAME:PACKAGE` or `header:NAME:PACKAGE`: the
# command or C header is looked for, and only where it is absent the Debian package is installed,
# with sudo where the user is not root. `clang:FLAG:PACKAGE`: clang is to link with that flag.
set -eu

have_header() {
    echo "#include <$1>" | gcc -E -o /dev/null - 2>/dev/null
}

links_with() {
    echo 'int LLVMFuzzerTestOneInput(void); int LLVMFuzzerTestOneInput(void) { return 0; }' |
        clang "$1" -x c -o /dev/null - 2>/dev/null
}

missing=
for need in "$@"; do
    kind=${need%%:*}
    rest=${need#*:}
    name=${rest%%:*}
    package=${rest#*:}
    case $kind in
    command) command -v "$name" >/dev/null 2>&1 || missing="$missing $package" ;;
    clang) links_with "$name" || missing="$missing $package" ;;
    header) have_header "$name" || missing="$missing $package" ;;
    esac
done

if [ -n "$missing" ]; then
    if ! command -v apt-get >/dev/null 2>&1; then
        echo "guideway: these are missing, install them by your system's means:$missing" >&2
        exit 1
    fi
    as_root=
    [ "$(id -u)" = 0 ] || as_root=sudo
    echo "guideway: installing$missing"
    $as_root apt-get update -q
    DEBIAN_FRONTEND=noninteractive $as_root apt-get install -y -q --no-install-recommends $missing
fi

version=$(node --version | sed 's/^v\([0-9]*\).*/\1/')
if [ "$version" -lt 18 ]; then
    echo "guideway: node is version $version, 18 or later is needed" >&2
    exit 1
fi
