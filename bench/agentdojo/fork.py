"""Serves suites from processes that are forked after the package has been imported."""

import json
import os
import select
import signal
import socket
import sys

from agentdojo.task_suite.load_suites import get_suite

import server


class Forks:
    """A process that forks a server for each connection of a relay."""

    def __init__(self, folder):
        self.path = os.path.join(folder, "socket")
        listener = socket.socket(socket.AF_UNIX)
        listener.bind(self.path)
        listener.listen(64)
        # The child ends when this end is closed, also if this process is killed.
        closed, self.open = os.pipe()
        self.process = os.fork()
        if self.process == 0:
            try:
                os.close(self.open)
                accept(listener, closed)
            finally:
                os._exit(0)
        os.close(closed)
        listener.close()

    def close(self):
        os.close(self.open)
        os.waitpid(self.process, 0)

    def configuration(self, suite, state, injections=None, start=None):
        """An `mcp.json` whose only server continues from the state `start`, or begins with the injections."""
        request = {"suite": suite, "state": state, "injections": injections or {}, "start": start}
        relay = os.path.join(os.path.dirname(os.path.abspath(__file__)), "relay.py")
        command = {"command": sys.executable, "args": ["-S", "-E", relay, self.path, json.dumps(request)]}
        return {"mcpServers": {suite: command}}


def accept(listener, closed):
    # The kernel reaps the servers.
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    while closed not in select.select([listener, closed], [], [])[0]:
        connection, _ = listener.accept()
        if os.fork() == 0:
            listener.close()
            answer(connection)
        connection.close()


def answer(connection):
    request = b""
    while not request.endswith(b"\n"):
        request += connection.recv(1)
    os.dup2(connection.fileno(), 0)
    os.dup2(connection.fileno(), 1)
    connection.close()
    # The import replaced nothing of these, but a buffer of the parent may hold data.
    sys.stdin = os.fdopen(0, "r", closefd=False)
    sys.stdout = os.fdopen(1, "w", closefd=False)
    request = json.loads(request)
    suite = get_suite(server.VERSION, request["suite"])
    start = request["start"]
    state = server.State.load(start) if start else server.initial_state(suite, request["injections"])
    server.serve(suite, state, request["state"])
    os._exit(0)
