"""Requests byte by byte and frame by frame, for checks that choose the connection, the Host and the user themselves."""

import hashlib
import json
import os
import pathlib
import re
import socket
import ssl
import time

import h2.config
import h2.connection
import h2.events

from harness import run_ladle


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
    """The arguments of a server with a certificate of its own, in cert.pem and key.pem, and the context of a client that trusts it."""
    files = ["--cert", f"{folder}/cert.pem", "--key", f"{folder}/key.pem"]
    hosts = [word for name in names or ("localhost",) for word in ("--host", name)]
    run_ladle("tls", "self-signed", *hosts, *files, check=True)
    trust = ssl.create_default_context(cafile=files[1])
    trust.check_hostname = False
    return ["--tls-cert", files[1], "--tls-key", files[3]], trust


def pin_of(file):
    """The fingerprint of the first certificate of a file."""
    text = pathlib.Path(file).read_text()
    end = "-----END CERTIFICATE-----"
    return hashlib.sha256(ssl.PEM_cert_to_DER_cert(text[text.index("-----BEGIN CERT"):text.index(end) + len(end)])).hexdigest()


class Answer:
    def __init__(self, raw=b""):
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


def read_until(one, mark, data=b"", seconds=20):
    """Reads on until the bytes have the mark in them, or to their end: all there are."""
    end = time.monotonic() + seconds
    while mark not in data and (left := end - time.monotonic()) > 0:
        one.settimeout(left)
        try:
            piece = one.recv(65536)
        except TimeoutError:
            break
        if not piece:
            break
        data += piece
    return data


def ask(one, method, path, host, fields=(), body=None, announce=None):
    """One request on a connection of its own."""
    with one:
        one.sendall(request(method, path, host, fields, body, announce))
        return read_answer(one, method != "HEAD")


class H2:
    """The client's side of one HTTP/2 connection: what each stream has brought, and which are over."""

    def __init__(self, one, timeout=20):
        self.socket, self.timeout = one, timeout
        self.link = h2.connection.H2Connection(
            h2.config.H2Configuration(client_side=True, header_encoding="utf-8", validate_outbound_headers=False))
        self.link.initiate_connection()
        self.fields, self.bodies, self.over = {}, {}, set()

    def request(self, method, path, host, fields=(), body=None, announce=None, scheme="http"):
        """As `request` above; the number of its stream."""
        number = self.link.get_next_available_stream_id()
        head = [(":method", method), (":path", path), (":scheme", scheme)] + [(":authority", host)] * (host is not None)
        head += [(name.lower(), value) for name, value in (fields.items() if isinstance(fields, dict) else fields)]
        named = {name for name, _ in head}
        if (body is not None or announce) and "content-length" not in named:
            head += [("content-length", str(announce or len(body)))] + [("content-type", "application/json")] * ("content-type" not in named)
        self.link.send_headers(number, head, end_stream=body is None and not announce)
        if body is not None:
            self.link.send_data(number, body, end_stream=True)
        self.bodies[number] = b""
        self.flush()
        return number

    def flush(self):
        try:
            self.socket.sendall(self.link.data_to_send())
        except OSError:
            pass  # what explains it may still be there to read

    def take(self, piece):
        """Bytes of the server; none are its end."""
        if not piece:
            self.over |= set(self.bodies)
        for event in self.link.receive_data(piece) if piece else ():
            number = getattr(event, "stream_id", None)
            if isinstance(event, h2.events.ResponseReceived):
                self.fields[number] = dict(event.headers)
            elif isinstance(event, h2.events.DataReceived):
                self.bodies[number] += event.data
                self.link.acknowledge_received_data(event.flow_controlled_length, number)
            elif isinstance(event, (h2.events.StreamEnded, h2.events.StreamReset)):
                self.over.add(number)
            elif isinstance(event, h2.events.ConnectionTerminated):
                self.over |= set(self.bodies)
        self.flush()

    def until(self, condition, seconds=None):
        """Reads until the condition holds; whether it came to that."""
        end = time.monotonic() + (seconds or self.timeout)
        while not condition() and (left := end - time.monotonic()) > 0:
            self.socket.settimeout(left)
            try:
                piece = self.socket.recv(65536)
            except TimeoutError:
                break
            self.take(piece)
            if not piece:
                break
        return condition()

    def status(self, number):
        return int(self.fields.get(number, {}).get(":status", 0))

    def answer(self, number):
        """As `ask` has it; status 0 where none came."""
        self.until(lambda: number in self.over)
        made = Answer()
        made.status, made.fields, made.body = self.status(number), self.fields.get(number, {}), self.bodies[number]
        return made


def ask_h2(one, method, path, host, fields=(), body=None, announce=None):
    """One request on a connection of its own, by HTTP/2."""
    with one:
        link = H2(one)
        return link.answer(link.request(method, path, host, fields, body, announce))
