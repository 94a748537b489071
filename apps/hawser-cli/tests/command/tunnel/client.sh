# A host with two links, of which all traffic goes through a tunnel while the steps run.
cd "$WORK"
RESOLV=${RESOLV:-resolv.conf} RUN=run RESOLVER=198.51.100.2
fail() { echo "failed: $1"; exit 1; }
pin() { sed 's/.*"pin":"\([^"]*\)".*/\1/' hello; }
again() {
    "$HAWSER" -q tunnel --json --pin "$(pin)" --key-file key --run "$RUN" --resolv-conf "$RESOLV" --dns "$RESOLVER" "$@" \
        "$HAWSER_SERVER_ADDR:4435"
}
start() {
    rm -f tunnel
    # Not a function: the number is to be that of the process.
    "$HAWSER" -q tunnel --json --pin "$(pin)" --key-file key --run "$RUN" --resolv-conf "$RESOLV" --dns "$RESOLVER" "$@" \
        "$HAWSER_SERVER_ADDR:4435" >tunnel 2>said & tunnel=$!
    for _ in $(seq 200); do [ -s tunnel ] && return; sleep 0.05; done
    fail 'no tunnel'
}
before() {
    ip rule; ip -6 rule; ip route show table all; ip -6 route show table all; ip -o link | cut -d: -f2
    if command -v nft >/dev/null; then nft list ruleset; fi
}
as_before() {
    before >rules.after
    diff rules.before rules.after || fail 'rules, routes and devices as before'
    cmp "$RESOLV" resolv.before || fail 'resolvers as before'
}
for _ in $(seq 200); do [ -s hello ] && break; sleep 0.05; done
before >rules.before
cp "$RESOLV" resolv.before
start
trap 'kill $tunnel 2>/dev/null' EXIT
. ./steps.sh
