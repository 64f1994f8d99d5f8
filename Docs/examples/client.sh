#!/bin/bash
# Asks an altnet device in the network with openssl (1.1.1 or newer) and bash, to look at a device by hand.
#
#     client.sh HOST PORT KEY_FILE TYPE [BODY]     such as:  client.sh 192.0.2.7 25863 lamp.key network.get
#
# Prints the whole line of the answer, with its body among other members.
# KEY_FILE holds a pairing code: altnet://pair?v=1&id=...&key=...&cert=... An error is one line, `code: message`, with
# exit status 1. openssl takes the key from its command line: EVERY USER of this machine can see it in the list of
# processes.
# It does not seal passwords: openssl pkeyutl can, but not in a few lines. See seal.py.
set -euo pipefail

[ $# -ge 4 ] || { sed -n '4s/^# *//p' "$0" >&2; exit 64; }
address=$1:$2 type=$4 body=${5:-'{}'}
[[ $1 != *:* ]] || address="[$1]:$2"
fail() { echo "$1: $2" >&2; exit 1; }

# The values of the code. The key is in hexadecimal digits, because it is bytes.
code=$(head -n 1 "$3")
[[ $code == altnet://pair\?v=1\&* ]] || fail malformed "this is not a pairing code"
hex() { od -An -v -tx1 | tr -d ' \n'; }
value() { [[ $code =~ [?\&]$1=([^\&]*) ]] && printf '%b' "${BASH_REMATCH[1]//%/\\x}"; }
bytes() { printf '%b' "$(sed 's/../\\x&/g')"; }
member() { sed -n 's/.*"'"$1"'":"\(\([^"\\]\|\\.\)*\)".*/\1/p' <<<"$2"; }
quoted() { sed 's/[\\"]/\\&/g; s/.*/"&"/' <<<"$1"; }
id=$(value id) name=$(value name || echo owner) key=$(value key | hex)
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

# 1. Reads the certificate, and checks that it is the device's.
openssl s_client -connect "$address" </dev/null 2>/dev/null | openssl x509 -out "$folder/device.pem" 2>/dev/null \
    || fail failed "no TLS answers at $address"
certificate=$(openssl x509 -in "$folder/device.pem" -outform der | openssl dgst -sha256 -binary | hex)
[ "$(value cert || echo "$certificate")" = "$certificate" ] \
    || fail certificateChanged "pair again if the device was reset; else this is another host"

# 2. Opens a session that accepts only this certificate. The device greets with its nonce.
coproc openssl s_client -quiet -connect "$address" -CAfile "$folder/device.pem" -partial_chain -verify_return_error \
    2>/dev/null
exec {from}<&"${COPROC[0]}" {to}>&"${COPROC[1]}"
receive() {
    IFS= read -r -t 30 line <&"$from" || fail failed "the device has closed the connection"
    [[ $line != *'"ok":false'* ]] || fail "$(member code "$line")" "$(member message "$line")"
}
receive
theirs=$(member nonce "$line")
ours=$(openssl rand -base64 32)

# 3. Each side proves that it has the key. A proof is valid only for this certificate and this connection.
proof() {
    { printf 'altnet/1 %s' "$1"; bytes <<<"$certificate"; base64 -d <<<"$theirs"; base64 -d <<<"$ours"; printf %s "$id"
    } | openssl dgst -sha256 -mac HMAC -macopt "hexkey:$key" -binary | base64
}
printf '{"v":1,"id":"1","type":"session.open","body":{"deviceId":%s,"key":%s,"nonce":"%s","proof":"%s"}}\n' \
    "$(quoted "$id")" "$(quoted "$name")" "$ours" "$(proof app)" >&"$to"
receive
[ "$(member proof "$line")" = "$(proof device)" ] \
    || fail notTheDevice "the other side has not proved that it has the key"

# 4. Sends and receives lines from here on. There are no events without events.subscribe.
printf '{"v":1,"id":"2","type":"%s","body":%s}\n' "$type" "$body" >&"$to"
receive
echo "$line"
