# SPDX-License-Identifier: BSL-1.0
# Locks by kazoo, as programs in Python do:
#   kazoo_neighbour.py SERVER PATH LOG loop|once MODE [PATTERN]   as CuratorNeighbour; PATTERN: extra_lock_patterns
# MODE: lock (Lock), read (ReadLock) or write (WriteLock)
import logging
import os
import sys
import time

from kazoo.client import KazooClient

logging.basicConfig(level=logging.CRITICAL)
server, path, log, how, mode = sys.argv[1:6]
client = KazooClient(hosts=server, timeout=6.0)
client.start(timeout=60)
kinds = {"lock": client.Lock, "read": client.ReadLock, "write": client.WriteLock}
lock = kinds[mode](path, "kazoo", extra_lock_patterns=sys.argv[6:])


def write(what):
    line = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    os.write(line, f"{what} kazoo {os.getpid()} {mode}\n".encode())
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
