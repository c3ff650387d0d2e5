"""Connects standard input and output to a server of `fork.py`: `relay.py SOCKET REQUEST`.

Importing the package takes seconds. `fork.py` imports it once, and this relay, which imports nothing of it, takes the
place of `server.py` in the configuration of each run.
"""

import os
import socket
import sys
import threading


def pump(read, write, end):
    while data := read():
        write(data)
    end()


def main():
    connection = socket.socket(socket.AF_UNIX)
    connection.connect(sys.argv[1])
    connection.sendall(sys.argv[2].encode() + b"\n")
    to_server = threading.Thread(
        target=pump,
        args=(lambda: os.read(0, 65536), connection.sendall, lambda: connection.shutdown(socket.SHUT_WR)),
        daemon=True,
    )
    to_server.start()

    def write(data):
        while data:
            data = data[os.write(1, data) :]

    pump(lambda: connection.recv(65536), write, lambda: None)


if __name__ == "__main__":
    main()
