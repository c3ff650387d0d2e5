#!/bin/bash
# Measures stored plans: one process over SQLite and over PostgreSQL, three gateways over one PostgreSQL server, and the time of a take-over.
#
# Usage: bench/replicas.sh PLANWRIGHT
#
# It needs Debian's packages `postgresql` and `apache2-utils`. All parts share the cores of this machine, the client included.
set -euo pipefail

planwright=$(realpath "$1")
programs=$(ls -d /usr/lib/postgresql/*/bin | sort -V | tail -n 1)
folder=$(mktemp -d)
port=26300
url=postgres://planwright@127.0.0.1:$port/postgres
chmod 711 "$folder"
as=
if [ "$(id -u)" = 0 ]; then
    as="runuser -u postgres --"
fi
children=
stop() {
    # The process of `runuser` passes no signal on.
    kill -9 "$(head -n 1 "$folder/postgres/data/postmaster.pid" 2>/dev/null)" 2>/dev/null || true
    for child in $children; do
        kill -9 "$child" 2>/dev/null || true
    done
    wait 2>/dev/null
    rm -rf "$folder"
}
trap stop EXIT
cd "$folder"
export HOME=$folder XDG_CONFIG_HOME=$folder/config XDG_DATA_HOME=$folder/data

mkdir postgres config config/planwright
[ -z "$as" ] || chown postgres postgres
$as "$programs/initdb" --auth=trust --username=planwright --encoding=UTF8 --locale=C --pgdata "$folder/postgres/data" >initdb.log
$as "$programs/postgres" -D "$folder/postgres/data" -k "$folder/postgres" -c listen_addresses=127.0.0.1 -c port=$port -c max_connections=200 2>postgres.log &
children="$children $!"
until "$programs/pg_isready" -q -h 127.0.0.1 -p $port; do sleep 0.1; done
sql() { "$programs/psql" -qAt -h 127.0.0.1 -p $port -U planwright postgres -c "$1"; }
now() { date +%s%N; }

# A chain of calls that are answered at once, against bare commits of rows of the same size.
steps=4000
sql "CREATE TABLE bare (number BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY, body TEXT)"
echo "INSERT INTO bare (body) VALUES (repeat('x', 600));" >bare.sql
python3 - $steps >chain.json <<'END'
import json, sys
steps = [{"id": "s0", "tool": "look", "args": {"n": 0}}]
steps += [{"id": f"s{n}", "tool": "look", "args": {"n": f"${{s{n - 1}.n}}"}} for n in range(1, int(sys.argv[1]))]
print(json.dumps({"steps": steps, "output": []}))
END
echo '{"tools": {"look": {"annotations": {"readOnlyHint": true}, "echo": true}}}' >tools.json
chain() {
    local begun; begun=$(now)
    "$planwright" run chain.json --simulate tools.json --format json $1 >report.json 2>/dev/null
    echo $((steps * 1000000000 / ($(now) - begun)))
}
chain "--store $url" >/dev/null
for round in 1 2 3; do
    bare=$("$programs/pgbench" -n -c 1 -T 3 -f bare.sql -h 127.0.0.1 -p $port -U planwright postgres 2>/dev/null | sed -n 's/^tps = \([0-9]*\).*/\1/p')
    echo "chain of $steps calls: PostgreSQL $(chain "--store $url")/s of $bare bare commits/s; SQLite $(chain "--store $folder/chain.db")/s; not stored $(chain --no-store)/s"
done

# Plans of one call through gateways, from 200 connections.
plans=1000
printf "[serve]\nrate = '1000000/s'\nmax_plans = 100000\nmax_requests = 100000\nmax_connections = 4096\n[tools]\npin = 'off'\n" >config/planwright/planwright.toml
token=$("$planwright" token create bench 2>/dev/null)
mkdir files
echo '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"execute_plan","arguments":{"plan":{"steps":[{"id":"a","tool":"list_files","args":{"path":"."}}],"output":[]}},"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"bench","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}}}' >body.json
gateway() {
    "$planwright" serve --listen "127.0.0.1:$1" --workspace files --store "$2" 2>"gateway-$1.log" &
    gateways="$gateways $!"
    children="$children $!"
    until curl -sf "http://127.0.0.1:$1/healthz" >/dev/null; do sleep 0.1; done
}
ask() {
    ab -q -k -n "$2" -c "$3" -p body.json -T application/json -H "Authorization: Bearer $token" \
        -H "Accept: application/json, text/event-stream" -H "MCP-Protocol-Version: 2026-07-28" -H "Mcp-Method: tools/call" \
        -H "Mcp-Name: execute_plan" "http://127.0.0.1:$1/mcp" >"ab-$1.log"
    # Times differ in their length, and so do answers.
    grep -q "Non-2xx" "ab-$1.log" && echo "errors: see ab-$1.log" && grep -E "Failed|Non-2xx" "ab-$1.log" || true
}
measure() {
    local name=$1 count=$2 store=$3 begun
    gateways=
    for replica in $(seq "$count"); do gateway $((port + 10 + replica)) "$store"; done
    for replica in $(seq "$count"); do ask $((port + 10 + replica)) 200 20; done
    begun=$(now)
    clients=
    for replica in $(seq "$count"); do ask $((port + 10 + replica)) $((plans / count)) $((200 / count)) & clients="$clients $!"; done
    wait $clients
    echo "$name: $((plans * 1000000000 / ($(now) - begun))) plans/s from 200 connections"
    ask $((port + 11)) 300 1
    echo "$name: $(sed -n 's/^ *50% *\([0-9]*\).*/\1/p' "ab-$((port + 11)).log") ms median, $(sed -n 's/^Time per request: *\([0-9.]*\).*(mean)/\1/p' "ab-$((port + 11)).log") ms mean for one client"
    kill -9 $gateways
    wait $gateways 2>/dev/null || true
}
measure "one gateway, SQLite" 1 "$folder/gateway.db"
measure "one gateway, PostgreSQL" 1 "$url"
measure "three gateways, PostgreSQL" 3 "$url"
sql "SELECT 'entries of a plan: ' || round(count(*)::numeric / count(DISTINCT run), 1) || ', bytes of its bodies: ' || sum(octet_length(body)) / count(DISTINCT run) FROM planwright.entries WHERE run > 10"
sql "SELECT 'bytes of the tables for each plan: ' || (pg_total_relation_size('planwright.entries') + pg_total_relation_size('planwright.runs')) / (SELECT count(*) FROM planwright.runs)"
