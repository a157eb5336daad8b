#!/bin/sh
# Builds "plane on plane, axes 5 cm apart" from nothing with curl, runs it, pushes, prints where the
# cone went. usage: sh examples/circle.sh [URL]
set -eu
url=${1:-http://127.0.0.1:8080}/api/v1

# ask METHOD PATH [BODY]: the answer, or a message and the end
ask() {
    if [ $# -gt 2 ]; then
        curl -sS --fail-with-body -X "$1" -H 'Content-Type: application/json' -d "$3" "$url$2"
    else
        curl -sS --fail-with-body -X "$1" "$url$2"
    fi || { echo "$1 $2 was refused" >&2; exit 1; }
}

# an empty scene, then two solids
ask PUT /scene '{"format":"guideway-scene/1","name":"Circle, with curl","objects":[]}' >/dev/null
ask POST /objects '{"id":"cylinder","geometry":{"type":"cylinder","radius":0.1,"height":0.2},"fixed":true}' >/dev/null
ask POST /objects '{"id":"cone","geometry":{"type":"cone","radius":0.04,"height":0.1},
                    "pose":{"p":[0.07,0.02,0.3],"q":[1,0,0,0]},"body":{"mass":2.0}}' >/dev/null

# the hand holds the cone; nobody operates the device yet
ask PUT /tool '{"object":"cone","device":"sim","control":"admittance"}' >/dev/null

# what would the plane alone leave? a dry run changes nothing
ask POST '/constraints?dryRun=true' \
    '{"type":"coincident","a":"cone/base","b":"cylinder/top","sense":"opposite"}' |
    grep -o '"words":"[^"]*"' | head -1

# the base on the top, the axes 5 cm apart
ask POST /constraints '{"id":"plane","type":"coincident","a":"cone/base","b":"cylinder/top","sense":"opposite"}' >/dev/null
ask POST /constraints '{"id":"axes","type":"distance","a":"cone/axis","b":"cylinder/axis","value":0.05}' >/dev/null
ask GET /solutions/cone | grep -o '"words":"[^"]*"' | head -1

# run, push sideways with 0.5 N for half a second and down with 5 N all the while
ask PUT /simulation '{"state":"running"}' >/dev/null
ask PUT /devices/sim/operator '{"type":"wrench","samples":[
    {"t":0,"force":[0,0.5,-5],"torque":[0,0,0]},{"t":0.5,"force":[0,0,0],"torque":[0,0,0]}]}' >/dev/null
sleep 1
ask PUT /simulation '{"state":"paused"}' | grep -o '"pose":{[^}]*}\|"residual":[^,]*' | head -2
