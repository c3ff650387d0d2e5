#!/bin/bash
# Measures plans on Restate against bare workflows of the same shape, and the time of a replay.
#
# Usage: [ROUNDS=N] [NODES=N] bench/restate.sh PLANWRIGHT BARE RESTATE [STEPS …]
#
# The sizes are 1000 and 10000 calls, the rounds two, and the server has one node, unless stated otherwise. With several nodes, each record is
# on two of them. A replay is measured once for each size.
# BARE is the example `bare` of planwright-restate (`cargo build --release -p planwright-restate --example bare`), RESTATE the program
# `restate-server`. All parts share the cores of this machine.
set -euo pipefail

planwright=$(realpath "$1") bare=$(realpath "$2") restate=$(realpath "$3")
shift 3
sizes=${*:-1000 10000}
folder=$(mktemp -d)
port=26400
ingress=http://127.0.0.1:$((port + 1))
admin=http://127.0.0.1:$((port + 2))
children=
stop() {
    for child in $children $(cat "$folder/worker.pid" 2>/dev/null); do kill -9 "$child" 2>/dev/null || true; done
    wait 2>/dev/null
    rm -rf "$folder"
}
trap stop EXIT
cd "$folder"
export HOME=$folder XDG_CONFIG_HOME=$folder/config XDG_DATA_HOME=$folder/data

nodes=${NODES:-1}
# Each node has three ports; those of the worker and the bare workflow follow.
addresses=$(for node in $(seq 0 $((nodes - 1))); do printf '"http://127.0.0.1:%s",' $((port + 3 * node)); done)
worker_port=$((port + 3 * nodes)) bare_port=$((port + 3 * nodes + 1))
if [ "$nodes" -gt 1 ]; then
    export RESTATE_CLUSTER_NAME=planwright RESTATE_METADATA_CLIENT__ADDRESSES="[${addresses%,}]" RESTATE_DEFAULT_REPLICATION=2
fi
export RESTATE_LISTEN_MODE=tcp RESTATE_DISABLE_TELEMETRY=true RESTATE_DEFAULT_NUM_PARTITIONS=2
for node in $(seq 0 $((nodes - 1))); do
    first=$((port + 3 * node))
    RESTATE_BASE_DIR=$folder/restate RESTATE_BIND_ADDRESS=127.0.0.1:$first RESTATE_ADVERTISED_ADDRESS=http://127.0.0.1:$first \
        RESTATE_INGRESS__BIND_ADDRESS=127.0.0.1:$((first + 1)) RESTATE_ADMIN__BIND_ADDRESS=127.0.0.1:$((first + 2)) \
        RESTATE_AUTO_PROVISION=$([ "$node" = 0 ] && echo true || echo false) \
        "$restate" --no-logo --node-name "node-$node" >"restate-$node.log" 2>&1 &
    children="$children $!"
done
for node in $(seq 0 $((nodes - 1))); do
    first=$((port + 3 * node))
    until curl -sf "http://127.0.0.1:$((first + 2))/health" >/dev/null && curl -sf "http://127.0.0.1:$((first + 1))/restate/health" >/dev/null; do sleep 0.1; done
done

echo '{"tools": {"look": {"annotations": {"readOnlyHint": true}, "echo": true}, "pay": {"approval": true, "echo": true}}}' >tools.json
worker() {
    "$planwright" worker --simulate tools.json --listen $worker_port --register $admin >worker.log 2>&1 &
    # A file, since a replay that starts another worker runs in a subshell.
    echo $! >worker.pid
    until grep -q registered worker.log; do sleep 0.05; done
}
worker
"$bare" 127.0.0.1:$bare_port &
children="$children $!"
until curl -sf -o /dev/null "$admin/deployments" -H 'content-type: application/json' -d "{\"uri\": \"http://127.0.0.1:$bare_port\"}"; do sleep 0.1; done

# Asks Restate about the last invocation of a service.
asked() {
    curl -sf "$admin/query" -H 'accept: application/json' -H 'content-type: application/json' \
        -d "{\"query\": \"SELECT $2 AS answer FROM sys_invocation WHERE target_service_name = '$1' ORDER BY created_at DESC LIMIT 1\"}" |
        sed -nE 's/.*"answer":"?([^"}]*)"?.*/\1/p'
}
took() { asked "$1" "CAST(1000 * (date_part('epoch', completed_at) - date_part('epoch', created_at)) AS BIGINT)"; }
bare() {
    # Restate runs a workflow once for each key.
    curl -sf -o /dev/null "$ingress/$1/key-$(date +%s%N)/run" -H 'content-type: application/json' -d "$2"
    took "$1"
}
plan() {
    python3 - "$1" "$2" >plan.json <<'END'
import json, sys
kind, count = sys.argv[1], int(sys.argv[2])
steps = [{"id": f"s{n}", "tool": "look", "args": {"n": f"${{s{n - 1}.n}}" if kind != "spread" and 0 < n else n}} for n in range(count)]
if kind == "waiting":
    # A plan has at most 10,000 steps.
    steps[-1] = {"id": "last", "tool": "pay", "args": {"n": f"${{s{count - 2}.n}}"}}
print(json.dumps({"steps": steps, "output": []}))
END
}
submit() {
    "$planwright" run plan.json --simulate tools.json --on "restate=$ingress" --format json >report.json 2>run.log
}
run() {
    plan "$1" "$2"
    submit
    grep -q '"status": "succeeded"' report.json
    took PlanwrightRun
}
# A run whose worker is lost when it waits for a decision. The next worker repeats all decisions before that.
replay() {
    plan waiting "$1"
    # The log of the run before may say that it waits.
    rm -f run.log
    submit &
    local running=$!
    until grep -qs waits run.log; do
        kill -0 $running
        sleep 0.1
    done
    kill -9 "$(cat worker.pid)"
    "$planwright" approve last last --digest "$("$planwright" approve last last --show --format json 2>/dev/null |
        python3 -c 'import json, sys; print(json.load(sys.stdin)["digest"])')" 2>/dev/null
    worker
    # Restate forgets when an execution began once it has ended.
    local began=0 seen
    while kill -0 $running 2>/dev/null; do
        seen=$(asked PlanwrightRun "CAST(1000 * date_part('epoch', last_start_at) AS BIGINT)")
        began=${seen:-$began}
    done
    [ "$began" != 0 ] || { echo 'less than a query takes, or not'; return; }
    echo $(($(asked PlanwrightRun "CAST(1000 * date_part('epoch', completed_at) AS BIGINT)") - began))
}
run chain 100 >/dev/null
bare BareRun 100 >/dev/null
for steps in $sizes; do
    for _ in $(seq "${ROUNDS:-2}"); do
        echo "chain of $steps calls: plan $(run chain "$steps") ms, bare workflow $(bare BareRun "$steps") ms"
        echo "$steps independent calls: plan $(run spread "$steps") ms, bare workflow $(bare BareSpread "$steps") ms"
    done
    echo "replay of a chain of $steps calls: $(replay "$steps") ms"
done
