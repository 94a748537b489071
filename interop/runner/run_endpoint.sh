#!/usr/bin/env bash
# One endpoint of the QUIC interop runner: client or server, as the environment says.
#
#   ROLE            client or server
#   TESTCASE        what is tested; one that is not supported ends with 127
#   REQUESTS        client: URLs, separated by spaces
#   CLIENT_PARAMS, SERVER_PARAMS   further options of `hawser get` and `hawser serve`
#   SSLKEYLOGFILE, QLOGDIR         read by hawser itself
#
# The folders and the port are those of the runner's containers unless CERTS, WWW, DOWNLOADS, PORT, HAWSER say otherwise.
set -euo pipefail

hawser=${HAWSER:-hawser}
certs=${CERTS:-/certs}
www=${WWW:-/www}
downloads=${DOWNLOADS:-/downloads}
port=${PORT:-443}
testcase=${TESTCASE:-}

unsupported() {
    echo "test case '$testcase' is not supported as ${ROLE:-no role}" >&2
    exit 127
}

# Routes of the simulated network, in the runner's containers only.
if [[ -x /setup.sh ]]; then
    /setup.sh
fi

serve() {
    local options=(--listen "[::]:$port" --cert "$certs/cert.pem" --key "$certs/priv.key")
    case $testcase in
        handshake | transfer | longrtt | multiplexing | blackhole | keyupdate | ecn | amplificationlimit | ipv6 | \
            handshakeloss | transferloss | handshakecorruption | transfercorruption | multiconnect | \
            rebind-port | rebind-addr | goodput | crosstraffic | chacha20 | resumption)
            options+=(--hq) ;;
        zerortt) options+=(--hq --early-data) ;;
        http3) ;;
        retry) options+=(--hq --retry) ;;
        v2) options+=(--hq --quic-version 2,1) ;;
        connectionmigration)
            options+=(--hq)
            local address
            for address in $(preferred_addresses); do
                options+=(--preferred-address "$address")
            done ;;
        *) unsupported ;;
    esac
    # shellcheck disable=SC2086 # several options
    exec "$hawser" serve "$www" "${options[@]}" ${SERVER_PARAMS:-}
}

# The server's own addresses with the next port: an address that clients have not seen before.
preferred_addresses() {
    if [[ -n ${PREFERRED:-} ]]; then
        echo "$PREFERRED"
        return
    fi
    local address
    for address in $(hostname -I); do
        case $address in
            fe80:*) ;;
            *:*) echo "[$address]:$((port + 1))" ;;
            *) echo "$address:$((port + 1))" ;;
        esac
    done
}

get() {
    # The runner's certificates are signed by nobody that a client could know.
    local options=(--insecure -O --output-dir "$downloads" --connect-timeout 30)
    local urls
    read -ra urls <<<"${REQUESTS:?the URLs to get}"
    case $testcase in
        handshake | transfer | longrtt | multiplexing | blackhole | ecn | amplificationlimit | ipv6 | retry | \
            transferloss | transfercorruption | rebind-port | rebind-addr | connectionmigration | goodput | crosstraffic)
            options+=(--hq) ;;
        http3) ;;
        chacha20) options+=(--hq --cipher chacha20) ;;
        # The runner wants one within the first MB.
        keyupdate) options+=(--hq --key-update-after 10) ;;
        v2) options+=(--hq --quic-version 2,1) ;;
        handshakeloss | handshakecorruption | multiconnect)
            options+=(--hq)
            local url
            for url in "${urls[@]}"; do
                # shellcheck disable=SC2086 # several options
                "$hawser" get "${options[@]}" ${CLIENT_PARAMS:-} "$url"
            done
            return ;;
        resumption | zerortt)
            # The first file is for the ticket, in a connection of its own.
            local folder
            folder=$(mktemp -d)
            options+=(--hq --session-file "$folder/sessions")
            if [[ $testcase == zerortt ]]; then
                options+=(--early-data)
            fi
            # shellcheck disable=SC2086 # several options
            "$hawser" get "${options[@]}" ${CLIENT_PARAMS:-} "${urls[0]}"
            urls=("${urls[@]:1}") ;;
        *) unsupported ;;
    esac
    # shellcheck disable=SC2086 # several options
    "$hawser" get "${options[@]}" ${CLIENT_PARAMS:-} "${urls[@]}"
}

case ${ROLE:-} in
    server) serve ;;
    client)
        # The simulator is ready when it listens there.
        if [[ -x /wait-for-it.sh ]]; then
            /wait-for-it.sh sim:57832 -s -t 30
        fi
        get ;;
    *)
        echo "ROLE is '${ROLE:-}', expected client or server" >&2
        exit 1 ;;
esac
