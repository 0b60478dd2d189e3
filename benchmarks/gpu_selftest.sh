#!/usr/bin/env bash
# On a machine with a GPU and many cores: builds the corpora, judges them as they come, and prints the rates last.
# What is built and judged already in JOBS is not done again, so a second call goes on where the first one stopped.
#
#     benchmarks/gpu_selftest.sh JOBS RECORD.json SECONDS [--only cheat|honest|mutant] …
set -u
jobs=$1 record=$2 seconds=$3
shift 3
mkdir -p "$jobs"
box=$(python3 -c 'from tilewright_sandbox.boxes import probe_all
print("bubblewrap" if any(r.name == "bubblewrap" and r.usable for r in probe_all()) else "process")')
[ "$box" = bubblewrap ] || echo "no bubblewrap here: candidates are built in no box at all"
for number in 1 2 3 4; do
    python3 -I -m tilewright_sandbox.batch "$jobs" --watch >>"$jobs/judge$number.log" 2>&1 &
done
end=$(($(date +%s) + seconds))
timeout -s KILL "$seconds" python3 benchmarks/build_selftest.py "$jobs" --workers 10 --box "$box" "$@" >>"$jobs/build.log" 2>&1
echo "built: $(wc -l <"$jobs/index.jsonl"), waited $((seconds - end + $(date +%s))) s"
while [ "$(date +%s)" -lt "$end" ] && [ "$(ls "$jobs" | grep -c '\.job\.json$')" -gt "$(ls "$jobs" | grep -c '\.verdict\.json$')" ]; do
    sleep 1
done
kill -KILL $(jobs -p) 2>/dev/null
rm -f "$jobs"/*.claim
python3 benchmarks/build_selftest.py "$jobs" "$@" --score "$record"
