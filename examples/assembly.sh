#!/bin/sh
# Runs the task of the bundled cover and base with curl: opens the scene, starts, waits, tells how
# every step ended. usage: sh examples/assembly.sh [URL]
set -eu
url=${1:-http://127.0.0.1:8080}/api/v1

ask() {
    curl -sS --fail-with-body -X "$1" -H 'Content-Type: application/json' -d "${3:-}" "$url$2" ||
        { echo "$1 $2 was refused" >&2; exit 1; }
}

ask POST /scene/open '{"scene":"cover-and-base"}' >/dev/null
ask POST /tasks/assemble/start >/dev/null
while curl -sS "$url/tasks/assemble/progress" | grep -q '^{"state":"running"'; do
    sleep 0.5
done
curl -sS "$url/tasks/assemble/progress" | grep -o '"state":"[a-z]*","reason":"[a-z]*"\|"message":"[^"]*"'
