# SPDX-License-Identifier: BSL-1.0
# Locks by kazoo's Lock, as programs in Python do:
#   kazoo_neighbour.py SERVER PATH LOG loop|once [PATTERN]   as CuratorNeighbour; PATTERN: extra_lock_patterns
import logging
import os
import sys
import time

from kazoo.client import KazooClient

logging.basicConfig(level=logging.CRITICAL)
server, path, log, how = sys.argv[1:5]
client = KazooClient(hosts=server, timeout=6.0)
client.start(timeout=60)
lock = client.Lock(path, "kazoo", extra_lock_patterns=sys.argv[5:])


def write(what):
    line = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    os.write(line, f"{what} kazoo {os.getpid()}\n".encode())
    os.close(line)


while True:
    with lock:
        write("B")
        if how == "once":
            sys.stdin.read(1)
        else:
            time.sleep(0.001)
        write("E")
    if how == "once":
        break
client.stop()
