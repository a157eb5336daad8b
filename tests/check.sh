# House rules that a program can check. Prints what breaks them and fails.
set -u
failed=0

complain() {
    echo "check: $1" >&2
    failed=1
}

# Arrows: web -> server -> rt -> drivers/driver.h; nothing points back.
sources() {
    git ls-files --cached --others --exclude-standard -- "$1" | grep '\.[ch]$'
}
bad=$(grep -nE '#include "(server|web|tests)/' $(sources rt) $(sources drivers))
[ -z "$bad" ] || complain "rt/ and drivers/ must not include server/, web/ or tests/:
$bad"
bad=$(grep -nE '#include "drivers/' $(sources rt) | grep -v '"drivers/driver.h"')
[ -z "$bad" ] || complain "rt/ may include drivers/driver.h only:
$bad"
bad=$(grep -nE '#include "rt/' $(sources drivers))
[ -z "$bad" ] || complain "drivers/ must not include rt/:
$bad"
bad=$(grep -nE '#include "rt/' $(sources server) | grep -vE '"rt/(guideway|rt|base/(error|limits|space)|scene/scene|scene/layout|sim/loop)\.h"')
[ -z "$bad" ] || complain "server/ sees rt/ through rt/guideway.h and its public headers:
$bad"
bad=$(grep -nE '#include "(drivers|web|tests)/' $(sources server))
[ -z "$bad" ] || complain "server/ must not include drivers/, web/ or tests/:
$bad"
bad=$(grep -nE '#include "' $(sources rt) $(sources drivers) $(sources server) | grep -vE '"(rt|drivers|server|web|tests)/[a-z]')
[ -z "$bad" ] || complain "includes are named from the root, so that these rules see them:
$bad"
bad=$(grep -nE '#include <(jansson|microhttpd|libwebsockets|sqlite3|sys/socket)' $(sources rt) $(sources drivers))
[ -z "$bad" ] || complain "no JSON, database or sockets in rt/ and drivers/:
$bad"
bad=$(grep -nE '\b(fopen|fdopen|printf|fprintf|fputs|puts)\(|#include <(fcntl|unistd|sys/(file|socket|stat))\.h>' $(sources rt) | grep -v '^rt/sim/loop.c:')
[ -z "$bad" ] || complain "no files and streams in rt/, but for the loop's own thread:
$bad"
bad=$(grep -nE '#include <(lapacke|cblas)' $(sources server))
[ -z "$bad" ] || complain "no numerics in server/:
$bad"

# Within rt/ a room uses itself and those before it in this list.
rooms="base geometry positioning collision dynamics contact haptics scene sim"
allowed=
for room in $rooms; do
    allowed="${allowed:+$allowed|}$room"
    bad=$(grep -nE '#include "rt/' $(sources "rt/$room") | grep -vE "\"rt/($allowed)/|^rt/sim/facade.c:.*\"rt/guideway.h\"")
    [ -z "$bad" ] || complain "rt/$room may use rt/($allowed) only:
$bad"
done

# Layout, and words that say something is unfinished.
if command -v clang-format >/dev/null 2>&1; then
    bad=$(git ls-files '*.c' '*.h' | xargs -n 40 -P "$(nproc)" clang-format --dry-run -Werror 2>&1 | grep ': error:' | cut -d: -f1 | sort -u)
    [ -z "$bad" ] || complain "clang-format would change (make format):
$bad"
fi
bad=$(git ls-files '*.c' '*.h' '*.ts' '*.tsx' '*.mjs' | xargs grep -nE '\b(TODO|FIXME|XXX|HACK)\b')
[ -z "$bad" ] || complain "unfinished:
$bad"

# Lines that the formatter of the page leaves as they are: strings, comments, the style sheet.
bad=$(git ls-files 'web/src/*' 'web/*.mjs' 'tests/web/*.mjs' | xargs awk 'length > 120 { print FILENAME ":" FNR ": " length " characters" }')
[ -z "$bad" ] || complain "lines of the page are at most 120 characters long:
$bad"

# A room's README names its files, and no README names a file that is not there. (No command for each file.)
for f in $(git ls-files 'rt/*.c' 'drivers/*.c'); do
    room=${f#rt/}
    room=${f%"$room"}${room%%/*}
    stem=${f##*/}
    stem=${stem%.c}
    pattern="\\b$stem\\b"
    tail=$stem
    while [ "$tail" != "${tail#*_}" ]; do
        tail=${tail#*_}
        pattern="$pattern|\`_$tail\\.c\`"
    done
    grep -qE "$pattern" "$room/README.md" || complain "$room/README.md does not name $f"
done
tracked=$(git ls-files | sed 's|.*/||')
for readme in $(git ls-files '*README.md'); do
    for name in $(grep -oE '`[A-Za-z0-9/.-][A-Za-z0-9_/.-]*\.(c|h|tsx?|mjs|sh|py)`' "$readme" | tr -d '`' | sort -u); do
        case "
$tracked
" in
        *"
${name##*/}
"*) ;;
        *) [ "$name" = src/openapi.ts ] || complain "$readme names $name, which is not there" ;;
        esac
    done
done

# Files stay small enough to see whole.
bad=$(git ls-files '*.c' '*.h' | xargs wc -l | awk '$1 > 900 && $2 != "total" { print $2 " has " $1 " lines: is it one concept?" }')
[ -z "$bad" ] || complain "$bad"

exit $failed
