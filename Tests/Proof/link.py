"""The link of the built program: how fast it stands, what thousands of drops leave behind, TLS in every combination, and
each refusal of the handshake as status, `link` event and doctor show it."""

import json
import re
import signal
import socket
import ssl
import statistics
import threading
import time

from harness import EventStream, FaultyGateway, Serve, Stopwatch, Tally, options, run_ladle, scratch, until
from raw_http import certificate, pin_of

chosen = options(starts=(10, 50), drops=(200, 10_000))
tally = Tally()


class Relay:
    """A TCP relay in front of a gateway; `tls` ends TLS here. It notes how long after a client came the second answer passed."""

    def __init__(self, gateway, tls=None):
        self.gateway = gateway
        self.tls = tls
        self.times = []
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self):
        while True:
            try:
                client, _ = self.listener.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(client, Stopwatch(self.gateway)), daemon=True).start()

    def _serve(self, client, watch):
        try:
            client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            if self.tls:
                client = self.tls.wrap_socket(client, server_side=True)
            upstream = socket.create_connection(("127.0.0.1", self.gateway.port))
            upstream.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        except (OSError, ssl.SSLError):
            return client.close()
        threading.Thread(target=self._copy, args=(client, upstream), daemon=True).start()
        answers, seen = 0, b""
        while piece := self._read(upstream):
            try:
                client.sendall(piece)
            except OSError:
                break
            # The gateway's frames are not masked: answers can be counted as they pass.
            seen = seen[-16:] + piece
            answers += seen.count(b'"type":"res"')
            seen = seen[-11:]
            if answers >= 2 and watch:
                self.times.append(watch.seconds * 1000)
                watch = None
        client.close()

    @staticmethod
    def _read(source):
        try:
            return source.recv(1 << 16)
        except OSError:
            return b""

    def _copy(self, source, target):
        while piece := self._read(source):
            try:
                target.sendall(piece)
            except OSError:
                break
        target.close()


def wait(server, holds, what):
    return until(lambda: (lambda status: status if holds(status) else None)(server.link()), what=what)


class LinkEvents:
    """The `link` events of a stream as they come."""

    def __init__(self, server):
        self.stream = EventStream(server, "?types=link", timeout=60)
        self.events = (data["link"] for _, name, data in self.stream if name == "link")

    def next(self, holds):
        return next(event for event in self.events if holds(event))

    def close(self):
        self.stream.close()


def speed():
    """From the connection to the second answer, which is the first one after the hello."""
    gateway = FaultyGateway()
    relay = Relay(gateway)
    for number in range(chosen.starts):
        server = Serve(gateway=f"ws://127.0.0.1:{relay.port}").linked()
        until(lambda: len(relay.times) > number, what="the first answer")
        server.kill()
    gateway.kill()
    middle = statistics.median(relay.times)
    print(f"handshake and first answer: median {middle:.1f} ms, fastest {min(relay.times):.1f} ms, "
          f"slowest {max(relay.times):.1f} ms of {len(relay.times)} (bar 50 ms)")
    tally.check(middle <= 50, "handshake and first answer within 50 ms")


def drops():
    """Each drop is noticed from the wire, and SIGHUP ends the wait that follows it."""
    gateway = FaultyGateway()
    server = Serve(gateway=gateway.url).linked()
    events = LinkEvents(server)
    noticed = []
    descriptors = resident = 0
    warm = min(50, chosen.drops // 2)
    began = time.monotonic()
    for number in range(chosen.drops):
        if number == warm:
            descriptors, resident = server.descriptors(), server.resident()
        watch = Stopwatch(server, gateway)
        gateway.control("POST", "drop")
        events.next(lambda status: status["state"] == "offline")
        noticed.append(watch.seconds * 1000)
        server.process.send_signal(signal.SIGHUP)
        events.next(lambda status: status["state"] == "online")
    took = time.monotonic() - began
    more, growth = server.descriptors() - descriptors, server.resident() - resident
    print(f"{chosen.drops} drops in {took:.0f} s: noticed after {statistics.median(noticed):.1f} ms in the middle; "
          f"descriptors {descriptors} {more:+}, resident {resident >> 10} KiB {growth >> 10:+} KiB")
    tally.check(more <= 2, f"no descriptor is left behind ({more:+})")
    tally.check(growth < 2 << 20, f"no memory is left behind ({growth >> 10} KiB)")
    tally.check(statistics.median(noticed) < 100, "a torn link is noticed at once")
    events.close()
    server.kill()
    gateway.kill()


def own_certificate(*names):
    """A server's context, the certificate's pin, and its file."""
    folder = scratch()
    certificate(folder, *names)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(f"{folder}/cert.pem", f"{folder}/key.pem")
    return context, pin_of(f"{folder}/cert.pem"), f"{folder}/cert.pem"


def tls():
    gateway = FaultyGateway()
    context, pin, file = own_certificate("localhost", "127.0.0.1")
    relay = Relay(gateway, context)
    other = Relay(gateway, own_certificate("elsewhere.example")[0])
    elsewhere, _, foreign = own_certificate("elsewhere.example")
    mismatched = Relay(gateway, elsewhere)
    shouted = "SHA-256:" + ":".join(re.findall("..", pin.upper()))
    cases = [
        ("the right pin", relay, "127.0.0.1", ["--gateway-pin", pin], {}, None),
        ("the right pin in another spelling", relay, "127.0.0.1", ["--gateway-pin", shouted], {}, None),
        ("the pin counts, not the name", relay, "localhost", ["--gateway-pin", pin], {}, None),
        ("a wrong pin", relay, "127.0.0.1", ["--gateway-pin", "ab" * 32], {}, "TLS_PIN_MISMATCH"),
        ("a wrong pin against a trusted authority", relay, "127.0.0.1", ["--gateway-pin", "ab" * 32],
         {"SSL_CERT_FILE": file}, "TLS_PIN_MISMATCH"),
        ("the system's trust", relay, "localhost", [], {"SSL_CERT_FILE": file}, None),
        ("no trust", relay, "localhost", [], {}, "TLS_NOT_TRUSTED"),
        ("another authority than the trusted one", other, "127.0.0.1", [], {"SSL_CERT_FILE": file}, "TLS_NOT_TRUSTED"),
        ("a trusted certificate of another host", mismatched, "localhost", [], {"SSL_CERT_FILE": foreign},
         "TLS_NOT_TRUSTED"),
    ]
    for name, front, host, flags, env, code in cases:
        server = Serve(*flags, gateway=f"wss://{host}:{front.port}", env=env)
        status = wait(server, lambda status: status["state"] != "connecting", name)
        if code:
            # A certificate may be renewed over there; a pin is changed here.
            again = "retryAt" in status
            holds = status["state"] == "refused" and status["code"] == code and status["hint"] \
                and again == (code == "TLS_NOT_TRUSTED")
        else:
            holds = status["state"] == "online"
        tally.check(holds, f"wss with {name}: {status}")
        print(f"wss with {name}: {status['state']} {status.get('code', '')}")
        server.kill()
    gateway.kill()


def refusals():
    """The same running program through all of them: a refusal that stops is taken up again by SIGHUP."""
    gateway = FaultyGateway()
    server = Serve(gateway=gateway.url).linked()
    events = LinkEvents(server)
    codes = re.findall(r"[A-Z][A-Z_]+[A-Z]", json.loads(gateway.control("POST", "faults?refuse=nothing"))["error"])
    print(f"{'code':36} {'state':21} hint")
    for code in codes:
        gateway.control("POST", f"faults?refuse={code}")
        gateway.control("POST", "drop")
        events.next(lambda status: status["state"] == "offline")
        server.process.send_signal(signal.SIGHUP)
        told = events.next(lambda status: status.get("code") not in (None, "LINK_LOST"))
        shown = server.link()
        doctor = run_ladle("doctor", "--state", server.state)
        print(f"{told['code']:36} {told['state']:21} {told.get('hint', '')}")
        tally.check(told["code"] == code or code == "STARTUP_SIDECARS", f"{code} in a link event: {told}")
        tally.check(shown["code"] == told["code"] and shown["state"] == told["state"], f"{code} in status: {shown}")
        tally.check(told["code"] in doctor.stdout and doctor.returncode != 0, f"{code} by doctor: {doctor.stdout}")
        tally.check(len(told["detail"]) > 20, f"{code} has a sentence: {told['detail']}")
        if told["state"] in ("refused", "waiting_for_approval"):
            shown = doctor.stdout.replace(f" --state {server.state}", "")
            tally.check(told.get("hint") and told["hint"] in shown, f"{code} has a command: {told}")
        gateway.control("POST", "faults?refuse=none")
        server.process.send_signal(signal.SIGHUP)
        events.next(lambda status: status["state"] == "online")
    tally.check(len(codes) >= 20, f"all refusals were met: {codes}")
    events.close()
    server.kill()
    gateway.kill()


refusals()
tls()
speed()
drops()
tally.end()
