"""Runs a command where the loopback is the only network: raises it in the
network namespace that the caller made, and goes on as the command."""

import fcntl
import os
import socket
import struct
import sys

SIOCGIFFLAGS, SIOCSIFFLAGS, IFF_UP = 0x8913, 0x8914, 1

names = [name for _, name in socket.if_nameindex()]
if names != ["lo"]:
    sys.exit(f"not alone: {names}")
with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
    flags = struct.unpack("16sH14x", fcntl.ioctl(any_socket, SIOCGIFFLAGS, struct.pack("16sH14x", b"lo", 0)))[1]
    fcntl.ioctl(any_socket, SIOCSIFFLAGS, struct.pack("16sH14x", b"lo", flags | IFF_UP))
os.execvp(sys.argv[1], sys.argv[1:])
