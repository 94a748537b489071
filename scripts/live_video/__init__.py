"""What scripts/live-test and scripts/live-compare share: FLV and MPEG-TS, the two ends in the namespaces, a player without a buffer."""
