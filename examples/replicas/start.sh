#!/bin/sh
# Starts PostgreSQL, three gateways over its store, and a balancer in front of them. Ctrl-C stops all of it.
#
# Usage: examples/replicas/start.sh [FOLDER]
#
# FOLDER gets the database, the logs and the token of the client; by default a new folder that is deleted at the end. The gateways offer the
# tools of FOLDER/mcp.json, or the built-in tools for the files of FOLDER/files. PORT (8080) is the port of the balancer; PLANWRIGHT names
# the program, by default the one of the path.
#
# It needs Debian's packages `postgresql`, `haproxy` and `curl`.
set -eu

# Debian has haproxy where the path of an ordinary user does not lead.
PATH=$PATH:/usr/sbin
here=$(cd "$(dirname "$0")" && pwd)
port=${PORT:-8080}
planwright=${PLANWRIGHT:-planwright}
programs=$(ls -d /usr/lib/postgresql/*/bin 2>/dev/null | sort -V | tail -n 1)
for needed in "$programs/postgres" haproxy curl "$planwright"; do
    command -v "$needed" >/dev/null || {
        echo "error: $needed was not found; see the first lines of $0" >&2
        exit 2
    }
done

folder=${1:-}
is_temporary=
if [ -z "$folder" ]; then
    folder=$(mktemp -d)
    is_temporary=1
fi
mkdir -p "$folder/files" "$folder/settings" "$folder/data"
folder=$(cd "$folder" && pwd)
# All replicas of this machine have the settings and tokens of this folder, not those of the user.
export XDG_CONFIG_HOME="$folder/settings" XDG_DATA_HOME="$folder/data"

children=
stop() {
    trap - EXIT INT TERM
    # The gateways first: they hand their runs over through the database.
    for child in $children; do
        kill "$child" 2>/dev/null || true
    done
    for child in $children; do
        wait "$child" 2>/dev/null || true
    done
    if [ -n "${postgres:-}" ]; then
        # Its process may be that of `runuser`, which passes no signal on.
        $as "$programs/pg_ctl" stop -s -m fast -D "$folder/postgres/data" || true
        wait "$postgres" 2>/dev/null || true
    fi
    if [ -n "$is_temporary" ]; then
        rm -rf "$folder"
    fi
}
trap stop EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

# PostgreSQL refuses to run as root.
if [ "$(id -u)" = 0 ]; then
    as="runuser -u postgres --"
    mkdir -p "$folder/postgres"
    chmod 711 "$folder"
    chown postgres "$folder/postgres"
else
    as=
    mkdir -p "$folder/postgres"
fi
if [ ! -e "$folder/postgres/data/PG_VERSION" ]; then
    $as "$programs/initdb" --auth=trust --username=planwright --encoding=UTF8 --locale=C \
        --pgdata "$folder/postgres/data" >"$folder/initdb.log"
fi
$as "$programs/postgres" -D "$folder/postgres/data" -k "$folder/postgres" \
    -c listen_addresses=127.0.0.1 -c port=$((port + 10)) 2>"$folder/postgres.log" &
postgres=$!
PLANWRIGHT_STORE=postgres://planwright@127.0.0.1:$((port + 10))/postgres
export PLANWRIGHT_STORE
until "$programs/pg_isready" -q -h 127.0.0.1 -p $((port + 10)); do
    kill -0 "$postgres" 2>/dev/null || {
        cat "$folder/postgres.log" >&2
        exit 1
    }
    sleep 0.1
done

# A token makes each request a client's, whichever replica it reaches.
if [ ! -e "$folder/token" ]; then
    (umask 077 && "$planwright" token create example >"$folder/token" 2>/dev/null)
fi

if [ -e "$folder/mcp.json" ]; then
    tools="--servers $folder/mcp.json"
else
    tools="--workspace $folder/files"
fi
for replica in 1 2 3; do
    # shellcheck disable=SC2086 # two words
    "$planwright" serve --listen "127.0.0.1:$((port + replica))" $tools 2>"$folder/replica-$replica.log" &
    eval "replica_$replica=\$!"
    children="$children $!"
    until curl -sf "http://127.0.0.1:$((port + replica))/healthz" >/dev/null; do
        kill -0 "$!" 2>/dev/null || {
            cat "$folder/replica-$replica.log" >&2
            exit 1
        }
        sleep 0.1
    done
done

PORT=$port REPLICA_1=$((port + 1)) REPLICA_2=$((port + 2)) REPLICA_3=$((port + 3)) \
    haproxy -q -db -f "$here/haproxy.cfg" 2>"$folder/haproxy.log" &
children="$children $!"
until curl -sf "http://127.0.0.1:$port/healthz" >/dev/null; do
    kill -0 "$!" 2>/dev/null || {
        cat "$folder/haproxy.log" >&2
        exit 1
    }
    sleep 0.1
done

# shellcheck disable=SC2154 # assigned by `eval`
cat <<END
three gateways over one store, behind http://127.0.0.1:$port/mcp
  token: $folder/token (Authorization: Bearer …)
  replicas: processes $replica_1, $replica_2, $replica_3; kill -9 any of them, and another one takes its runs over
  store: PLANWRIGHT_STORE=$PLANWRIGHT_STORE planwright runs
  logs: $folder/*.log
Ctrl-C stops everything
END
wait
