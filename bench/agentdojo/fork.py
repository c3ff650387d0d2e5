"""Serves suites from processes that are forked after the package has been imported."""

import functools
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
        request = read(connection)
        # What takes long is made once, here, and each child has its copy.
        built = build(request["suite"])
        state = None if request["start"] else initial(request["suite"], json.dumps(request["injections"]))
        if os.fork() == 0:
            listener.close()
            answer(connection, *built, state or server.State.load(request["start"]), request["state"])
        connection.close()


@functools.cache
def build(suite):
    return server.build(get_suite(server.VERSION, suite))


@functools.cache
def initial(suite, injections):
    return server.initial_state(get_suite(server.VERSION, suite), json.loads(injections))


def read(connection):
    request = b""
    while not request.endswith(b"\n"):
        request += connection.recv(1)
    return json.loads(request)


def answer(connection, built, session, state, path):
    os.dup2(connection.fileno(), 0)
    os.dup2(connection.fileno(), 1)
    connection.close()
    # The buffers of the parent's files may hold data.
    sys.stdin = os.fdopen(0, "r", closefd=False)
    sys.stdout = os.fdopen(1, "w", closefd=False)
    server.serve(built, session, state, path)
    os._exit(0)
