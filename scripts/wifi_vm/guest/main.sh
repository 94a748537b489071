#!/bin/bash
# Runs the stages that were asked for, then switches the machine off. Standard output is the line of results.
cd /opt/wifi-vm || exit 1
. ./settings
. ./air.sh
result "booted kernel=$(uname -r) seconds=$(cut -d' ' -f1 /proc/uptime)"
off() {
  result over
  sleep 0.3
  echo o >/proc/sysrq-trigger
  sleep 30
}
stage_air || off
for stage in $STAGES; do
  say "stage $stage"
  if ! declare -F "stage_$stage" >/dev/null; then . "./$stage.sh"; fi
  "stage_$stage"
  tidy
  result "stage $stage ended at=$(cut -d' ' -f1 /proc/uptime)"
done
off
