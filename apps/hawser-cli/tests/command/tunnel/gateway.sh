"$HAWSER" -q gateway --json --nat --listen "$HAWSER_SERVER_ADDR:4435" --state "$WORK" --run "$WORK/run" \
    --allow-egress 198.51.100.0/24 >hello 2>gateway-said & gateway=$!
