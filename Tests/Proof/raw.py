"""Requests byte by byte, for checks that choose the connection, the Host and the user themselves. Standard library only."""

import json
import os
import re
import socket
import ssl
import subprocess

from harness import LADLE


def tcp(host, port, uid=None, timeout=10):
    """A connection; with `uid` as if that user had made it: a socket's uid is its inode's."""
    one = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET)
    one.settimeout(timeout)
    if uid is not None:
        os.fchown(one.fileno(), uid, uid)
    one.connect((host, port))
    return one


def unix(path, timeout=10):
    one = socket.socket(socket.AF_UNIX)
    one.settimeout(timeout)
    one.connect(path)
    return one


def certificate(folder, *names):
    """The arguments of a server with a certificate of its own, and the context of a client that trusts it."""
    files = ["--cert", f"{folder}/cert.pem", "--key", f"{folder}/key.pem"]
    hosts = [word for name in names or ("localhost",) for word in ("--host", name)]
    subprocess.run([LADLE, "tls", "self-signed", *hosts, *files], check=True, capture_output=True)
    trust = ssl.create_default_context(cafile=files[1])
    trust.check_hostname = False
    return ["--tls-cert", files[1], "--tls-key", files[3]], trust


class Answer:
    def __init__(self, raw):
        head, _, self.body = raw.partition(b"\r\n\r\n")
        lines = head.decode("latin-1").split("\r\n")
        self.status = int(lines[0].split()[1]) if len(lines[0].split()) > 1 else 0
        self.fields = {k.lower(): v.strip() for k, _, v in (line.partition(":") for line in lines[1:])}

    @property
    def json(self):
        try:
            told = json.loads(self.body)
            return told if isinstance(told, dict) else {}
        except ValueError:
            return {}


def request(method, path, host, fields=(), body=None, announce=None):
    """`fields` are pairs, or a mapping whose values may be lists; host None sends no Host. `announce` is the length of a body
    that never comes: what answers then has not read it."""
    pairs = fields.items() if isinstance(fields, dict) else fields
    pairs = [("Host", host)] * (host is not None) + [*pairs]
    if body is not None or announce:
        pairs += [("Content-Length", announce or len(body))]
        pairs += [("Content-Type", "application/json")] * all(name.lower() != "content-type" for name, _ in pairs)
    lines = [f"{name}: {one}\r\n" for name, value in pairs for one in (value if isinstance(value, list) else [value])]
    return f"{method} {path} HTTP/1.1\r\n{''.join(lines)}\r\n".encode("latin-1") + (body or b"")


def read_answer(one, has_body=True):
    """One answer with a Content-Length, or up to the end."""
    raw = b""
    while True:
        head, found, rest = raw.partition(b"\r\n\r\n")
        if found:
            length = re.search(rb"\r\ncontent-length: (\d+)", head.lower())
            if not has_body or length and len(rest) >= int(length[1]) or head.split(b" ")[1:2] in ([b"204"], [b"304"]):
                return Answer(raw)
        piece = one.recv(65536)
        if not piece:
            return Answer(raw)
        raw += piece


def ask(one, method, path, host, fields=(), body=None, announce=None):
    """One request on a connection of its own."""
    with one:
        one.sendall(request(method, path, host, fields, body, announce))
        return read_answer(one, method != "HEAD")
