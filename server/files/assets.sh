#!/bin/sh
# Writes an assembler file that embeds the page and the scenes.
# usage: sh server/files/assets.sh WEBDIR SCENEDIR > out.S
set -eu
web=$1 scenes=$2
count=0 table=''

mime_of() {
    case $1 in
    *.html) echo 'text/html; charset=utf-8' ;;
    *.js | *.mjs) echo 'text/javascript; charset=utf-8' ;;
    *.css) echo 'text/css; charset=utf-8' ;;
    *.svg) echo 'image/svg+xml' ;;
    *.png) echo 'image/png' ;;
    *.ico) echo 'image/x-icon' ;;
    *.woff2) echo 'font/woff2' ;;
    *.json | *.map) echo 'application/json' ;;
    *) echo 'application/octet-stream' ;;
    esac
}

# path in the table, file, its packed twin or ''
embed() {
    printf '.Lfile%d: .incbin "%s"\n.Lend%d: .byte 0\n' $count "$2" $count
    packed='0, 0'
    if [ -n "$3" ]; then
        printf '.Lpacked%d: .incbin "%s"\n.Lpacked_end%d: .byte 0\n' $count "$3" $count
        packed=".Lpacked$count, .Lpacked_end$count"
    fi
    printf '.Lpath%d: .asciz "%s"\n.Lmime%d: .asciz "%s"\n' $count "$1" $count "$(mime_of "$1")"
    table="$table
    .quad .Lpath$count, .Lfile$count, .Lend$count, $packed, .Lmime$count"
    count=$((count + 1))
}

echo '/* Written by server/files/assets.sh. */'
echo '.section .rodata'
for file in $(find "$web" -type f ! -name '.*' ! -name '*.gz' | LC_ALL=C sort); do
    case $file in
    *.html | *.js | *.css | *.svg)
        gzip -9nc "$file" > "$file.gz"
        embed "/${file#"$web"/}" "$file" "$file.gz" ;;
    *) embed "/${file#"$web"/}" "$file" '' ;;
    esac
done
for file in $(find "$scenes" -type f -name '*.json' | LC_ALL=C sort); do
    embed "scenes/${file#"$scenes"/}" "$file" ''
done
printf '.section .data.rel.ro,"aw"\n.balign 8\n.globl assets\nassets:%s\n    .quad 0, 0, 0, 0, 0, 0\n' "$table"
echo '.section .note.GNU-stack,"",%progbits'
