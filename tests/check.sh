# House rules that a program can check. Prints what breaks them and fails.
set -u
failed=0

complain() {
    echo "check: $1" >&2
    failed=1
}

# Arrows: web -> server -> rt -> drivers/driver.h; nothing points back.
bad=$(grep -nE '#include "(server|web)/' rt/*/*.[ch] rt/*.h drivers/*.[ch])
[ -z "$bad" ] || complain "rt/ and drivers/ must not include server/ or web/:
$bad"
bad=$(grep -nE '#include "drivers/' rt/*/*.[ch] rt/*.h | grep -v '"drivers/driver.h"')
[ -z "$bad" ] || complain "rt/ may include drivers/driver.h only:
$bad"
bad=$(grep -nE '#include "rt/' drivers/*.[ch])
[ -z "$bad" ] || complain "drivers/ must not include rt/:
$bad"
bad=$(grep -nE '#include "rt/' server/*.[ch] | grep -vE '"rt/(rt|base/(error|limits|space)|scene/scene|scene/layout|loop/loop)\.h"')
[ -z "$bad" ] || complain "server/ sees rt/ through rt/rt.h and its public headers:
$bad"
bad=$(grep -nE '#include <(jansson|microhttpd|libwebsockets|sys/socket)' rt/*/*.[ch] drivers/*.[ch])
[ -z "$bad" ] || complain "no JSON and no sockets in rt/ and drivers/:
$bad"
bad=$(grep -ln '#include <jansson.h>' server/*.[ch] | grep -vE 'server/(wire|api|app|describe|stream|text)')
[ -z "$bad" ] || complain "JSON belongs to wire:
$bad"

# rt/geom and rt/base stand below the rest of rt/
bad=$(grep -nE '#include "rt/(solve|model|control|loop|scene)/' rt/base/*.[ch] rt/geom/*.[ch])
[ -z "$bad" ] || complain "rt/base and rt/geom must not include what stands above them:
$bad"

# Layout, and words that say something is unfinished.
if command -v clang-format >/dev/null 2>&1; then
    for f in $(git ls-files '*.c' '*.h'); do
        clang-format --dry-run -Werror "$f" >/dev/null 2>&1 || complain "$f: clang-format would change it (make format)"
    done
fi
bad=$(git ls-files '*.c' '*.h' '*.ts' '*.tsx' '*.mjs' | xargs grep -nE '\b(TODO|FIXME|XXX|HACK)\b')
[ -z "$bad" ] || complain "unfinished:
$bad"

# Files stay small enough to see whole.
for f in $(git ls-files '*.c' '*.h'); do
    lines=$(wc -l <"$f")
    [ "$lines" -le 600 ] || complain "$f has $lines lines; split it"
done

exit $failed
