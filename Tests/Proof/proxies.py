"""nginx and Caddy in front of Ladle with the files of deploy/, but for ports and certificate: callers need a token, events come
at once and resume, large messages pass, and a client that leaves is gone at Ladle too."""

import base64
import http.client
import json
import pathlib
import re
import signal
import socket
import subprocess
import time

from harness import ROOT, DemoGateway, Serve, Tally, events_of, free_port, options, scratch, until
from raw_http import certificate

options()
tally = Tally()
subprocess.run([ROOT / "deploy/packages", "nginx-light", "caddy"], check=True)
NAME = "ladle.example.org"
folder = pathlib.Path(scratch())
folder.chmod(0o755)
_, trust = certificate(folder, NAME)
trust.check_hostname = True
server = Serve("--access-hosts", NAME, gateway=DemoGateway("--speed", "2").url).linked()
authorize = {"Authorization": f"Bearer {server.token}"}


def nginx():
    port = free_port()
    text = (ROOT / "deploy/nginx/ladle.conf").read_text()
    text = text.replace("listen 443 ", f"listen 127.0.0.1:{port} ").replace("127.0.0.1:18780", f"127.0.0.1:{server.port}")
    text = re.sub(r"ssl_certificate [^;]*", f"ssl_certificate {folder}/cert.pem", text)
    text = re.sub(r"ssl_certificate_key [^;]*", f"ssl_certificate_key {folder}/key.pem", text)
    places = "".join(f"{name}_temp_path {folder}/{name}; " for name in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi"))
    whole = folder / "nginx.conf"
    whole.write_text(f"daemon off; pid {folder}/pid; error_log {folder}/error.log warn; user root;\n"
                     f"events {{}}\nhttp {{ access_log off; {places}\n{text}}}\n")
    command = ["nginx", "-p", str(folder), "-c", str(whole), "-e", f"{folder}/error.log"]
    checked = subprocess.run([*command, "-t"], capture_output=True, text=True)
    tally.check(checked.returncode == 0 and "warn" not in checked.stderr, f"nginx -t: {checked.stderr}")
    return port, command, lambda: (folder / "error.log").read_text()


def caddy():
    port = free_port()
    text = (ROOT / "deploy/caddy/Caddyfile").read_text()
    shaped = subprocess.run(["caddy", "fmt", "-"], input=text, capture_output=True, text=True)
    tally.check(shaped.returncode == 0 and shaped.stdout == text, "the Caddyfile is formatted")
    text = text.replace("127.0.0.1:18780", f"127.0.0.1:{server.port}")
    text = text.replace(f"{NAME} {{", f"https://{NAME}:{port} {{\n\ttls {folder}/cert.pem {folder}/key.pem\n\tbind 127.0.0.1", 1)
    whole = folder / "Caddyfile"
    whole.write_text("{\n\tadmin off\n\tauto_https off\n}\n" + text)
    log = open(folder / "caddy.log", "w+")
    checked = subprocess.run(["caddy", "validate", "--adapter", "caddyfile", "--config", whole], capture_output=True, text=True)
    tally.check(checked.returncode == 0 and "Valid configuration" in checked.stdout + checked.stderr, f"caddy validate: {checked.stderr}")
    return port, ["caddy", "run", "--adapter", "caddyfile", "--config", str(whole)], lambda: (folder / "caddy.log").read_text(), log


class Front:
    """Calls through a proxy, as a client that knows it by its name."""

    def __init__(self, port):
        self.port = port

    def connect(self, protocols=("http/1.1",)):
        trust.set_alpn_protocols(list(protocols))
        plain = socket.create_connection(("127.0.0.1", self.port), 30)
        return trust.wrap_socket(plain, server_hostname=NAME)

    def request(self, method, path, body=None, headers=None):
        connection = http.client.HTTPConnection(NAME)
        connection.sock = self.connect()
        connection.request(method, path, body, {"Host": NAME, **authorize, **(headers or {})})
        return connection, connection.getresponse()

    def call(self, *words, **more):
        connection, answer = self.request(*words, **more)
        with connection.sock:
            return answer.status, answer.read()


def subscribers():
    return server.status()["events"]["subscribers"]


def through(name, port):
    front = Front(port)

    def answers():
        try:
            return front.call("GET", "/healthz")[0] == 200
        except ConnectionRefusedError:
            return False

    until(answers, what=name)
    status, body = front.call("GET", "/v1/status", headers={"Authorization": ""})
    tally.check(status == 401 and json.loads(body)["code"] == "NOT_PAIRED", f"{name}: nobody without a token: {status} {body}")
    tally.check(front.call("GET", "/v1/status")[0] == 200, f"{name}: somebody with one")
    with front.connect(("h2", "http/1.1")) as connection:
        tally.check(connection.selected_alpn_protocol() == "h2", f"{name}: HTTP/2 towards clients")

    connection, answer = front.request("GET", "/v1/events", headers={"Accept": "text/event-stream"})
    stream = events_of(answer)
    tally.check(next(stream)[1] == "hello", f"{name}: hello first")
    began = time.monotonic()
    status, body = front.call("POST", "/v1/messages", body=b"append the weather to weather.txt")
    entry = json.loads(body)
    tally.check(status == 202 and entry["id"], f"{name}: a message: {status}")
    first = next(stream)
    took = time.monotonic() - began
    seen, last = [first[1]], first[0]
    for last, kind, data in stream:
        seen.append(kind)
        if kind == "run.ended":
            break
    spread = time.monotonic() - began
    tally.check(took < spread / 2, f"{name}: events come one by one, the first after {took:.2f} s, the last after {spread:.2f} s")
    tally.check("run.step" in seen and "run.delta" in seen, f"{name}: {seen}")
    tally.check(subscribers() == 1, f"{name}: one stream at Ladle")
    connection.sock.close()
    answer.close()
    until(lambda: subscribers() == 0, 10, 0.05, f"{name}: the end of a stream whose client left")

    status, body = front.call("POST", "/v1/messages?wait=20", body=b"hello while nobody listens")
    tally.check(status == 200 and json.loads(body)["reply"], f"{name}: a reply that is waited for: {status}")
    connection, answer = front.request("GET", "/v1/events", headers={"Last-Event-ID": last, "Accept": "text/event-stream"})
    stream = events_of(answer)
    tally.check(next(stream)[2]["resume"] == "recovered", f"{name}: the stream goes on")
    tally.check(any(kind == "run.ended" for _, kind, _ in stream), f"{name}: with what was missed")
    connection.sock.close()
    answer.close()

    picture = base64.b64encode(b"%PDF-1.4\n" + bytes(3 << 20)).decode()
    body = json.dumps({"text": "see attached", "attachments": [{"name": "a.pdf", "mimeType": "application/pdf", "data": picture}]})
    status, answer = front.call("POST", "/v1/messages", body=body.encode(), headers={"Content-Type": "application/json"})
    tally.check(status == 202, f"{name}: {len(body)} bytes of message: {status} {answer[:300]}")
    direct = server.call("GET", "/v1/status")[0]
    tally.check(direct == 200, f"{name}: the owner beside it needs no token")


for name, start in (("nginx", nginx), ("caddy", caddy)):
    port, command, log, *output = start()
    proxy = subprocess.Popen(
        command, stdout=subprocess.DEVNULL, stderr=output[0] if output else subprocess.DEVNULL,
        env={"HOME": str(folder), "PATH": "/usr/bin:/bin:/usr/sbin:/sbin"})
    try:
        through(name, port)
    finally:
        proxy.send_signal(signal.SIGTERM)
        proxy.wait(20)
        # A client that leaves is an error to Caddy.
        bad = [line for line in log().splitlines() if re.search(r"\[(error|crit|emerg)\]|\"level\":\"error\"", line)
               and "aborting with incomplete response" not in line]
        tally.check(not bad, f"{name} has nothing to complain about: {bad[:3]}")
tally.end()
