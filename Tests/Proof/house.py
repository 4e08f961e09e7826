"""Home Assistant as a program in a folder of its own, for the checks that need a real one.

It wants a newer Python than Debian 12 has. `HOME_ASSISTANT` is the command that runs its `hass`, such as `chroot /srv/sid
/ha/venv/bin/hass`, where the folder of scratch files has to be the same as here; `home_assistant_chroot.sh FOLDER` makes one. Without it a
Python on the PATH is looked for, and Home Assistant comes from PyPI."""

import base64
import contextlib
import http.client
import json
import os
import pathlib
import re
import shlex
import shutil
import signal
import socket
import struct
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.parse
import urllib.request

from harness import ROOT, free_port, scratch, until

# The release for a Python, newest first; the device discovery of MQTT is of 2024.11.
RELEASES = (((3, 14, 2), "2026.11.0"), ((3, 13, 0), "2025.4.4"))
NEEDS = ("home-assistant-frontend", "paho-mqtt", "hassil", "home-assistant-intents", "ha-ffmpeg", "mutagen", "securetar", "SQLAlchemy",
         "xmltodict")
ENVIRONMENT = ROOT / ".build/home-assistant"


def command():
    """The words that run `hass`; nothing where it cannot be had."""
    if named := os.environ.get("HOME_ASSISTANT"):
        return shlex.split(named)
    if (ENVIRONMENT / "bin/hass").exists():
        return [str(ENVIRONMENT / "bin/hass")]
    for name in ("python3.14", "python3.13", sys.executable):
        if not (python := shutil.which(name)):
            continue
        done = subprocess.run([python, "-c", "import sys; print(*sys.version_info[:3])"], capture_output=True, text=True)
        version = tuple(map(int, done.stdout.split())) if not done.returncode else ()
        release = next((release for least, release in RELEASES if version >= least), None)
        if not release:
            continue
        shutil.rmtree(ENVIRONMENT, ignore_errors=True)
        subprocess.run([python, "-m", "venv", ENVIRONMENT], check=True)
        pip = [ENVIRONMENT / "bin/python", "-m", "pip", "install", "-q", "--disable-pip-version-check"]
        if not subprocess.run([*pip, f"homeassistant=={release}"]).returncode:
            rules = next(ENVIRONMENT.glob("lib/*/site-packages/homeassistant/package_constraints.txt"))
            subprocess.run([*pip, "-c", rules, *NEEDS])
            return [str(ENVIRONMENT / "bin/hass")]
        shutil.rmtree(ENVIRONMENT, ignore_errors=True)
    return None


def left_out(tally, why="no Home Assistant can be had here; HOME_ASSISTANT names the command that runs one"):
    print(f"left out: {why}")
    tally.check(True, "")
    tally.end()


class House:
    """One with this configuration and these files beside it. It says everything on its output, which is kept in a file."""

    def __init__(self, words, configuration, **files):
        self.words, self.port = words, free_port()
        self.folder = pathlib.Path(scratch())
        self.log = self.folder / "said.txt"
        self.process, self.refresh, self.token, self.renewed, self.events = None, None, None, 0, []
        self.read = 0
        said = subprocess.run([*words, "--version"], capture_output=True, text=True, timeout=600).stdout
        self.version = said.strip().split("\n")[-1]
        self.release = tuple(map(int, re.findall(r"\d+", self.version)[:2]))
        (self.folder / ".storage").mkdir()
        # Since 2026 the port is no matter of YAML: one from there is undone after five minutes.
        if self.release >= (2026,):
            (self.folder / ".storage/http").write_text(json.dumps({"version": 3, "minor_version": 1, "key": "http", "data": {
                "stable": {"server_port": self.port, "server_host": ["127.0.0.1"], "cors_allowed_origins": [], "ip_ban_enabled": True,
                           "login_attempts_threshold": -1, "ssl_profile": "intermediate_v6", "use_x_frame_options": True,
                           "created_at": "2026-11-01T00:00:00+00:00", "error": None, "error_message": None},
                "pending": None, "yaml_migration_done": True}}))
        else:
            configuration += f"http:\n  server_host: 127.0.0.1\n  server_port: {self.port}\n"
        (self.folder / "configuration.yaml").write_text(configuration)
        for name, text in files.items():
            (self.folder / f"{name}.yaml").write_text(text)

    def start(self):
        with open(self.log, "ab") as log:
            self.process = subprocess.Popen([*self.words, "-c", str(self.folder), "--skip-pip-packages", "pymicro-vad,pyspeex-noise"],
                                            stdout=log, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL)
        until(self.answers, 600, 0.3, lambda: f"an answer of Home Assistant: {self.said[-3000:]}")
        if self.refresh:
            self.running()
        return self

    def answers(self):
        if self.process.poll() is not None:
            raise RuntimeError(f"Home Assistant ended: {self.said[-3000:]}")
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self.port}/api/onboarding", timeout=2) as answer:
                return answer.status == 200
        except urllib.error.HTTPError as error:
            return error.code in (401, 404)
        except OSError:
            return False

    def running(self):
        def is_running():
            with contextlib.suppress(OSError):
                return self.api("GET", "config").get("state") == "RUNNING"
        until(is_running, 300, 0.3, "the end of its start")
        threading.Thread(target=self.follow, daemon=True).start()

    @property
    def said(self):
        return self.log.read_text(errors="replace")

    def form(self, path, **fields):
        request = urllib.request.Request(f"http://127.0.0.1:{self.port}{path}", urllib.parse.urlencode(fields).encode())
        with urllib.request.urlopen(request, timeout=30) as answer:
            return json.load(answer)

    def api(self, method, path, body=None, timeout=60):
        if self.refresh and time.monotonic() - self.renewed > 1000:
            self.token = self.form("/auth/token", grant_type="refresh_token", refresh_token=self.refresh, client_id=self.client)["access_token"]
            self.renewed = time.monotonic()
        request = urllib.request.Request(
            f"http://127.0.0.1:{self.port}/api/{path}", None if body is None else json.dumps(body).encode(), method=method,
            headers={"Content-Type": "application/json", **({"Authorization": f"Bearer {self.token}"} if self.token else {})})
        with urllib.request.urlopen(request, timeout=timeout) as answer:
            return json.loads(answer.read() or b"null")

    def move_in(self):
        """A first user."""
        self.client = f"http://127.0.0.1:{self.port}/"
        code = self.api("POST", "onboarding/users", {"name": "me", "username": "me", "password": "a-password", "client_id": self.client, "language": "en"})
        made = self.form("/auth/token", grant_type="authorization_code", code=code["auth_code"], client_id=self.client)
        self.token, self.refresh, self.renewed = made["access_token"], made["refresh_token"], time.monotonic()
        for step in ("core_config", "analytics"):
            self.api("POST", f"onboarding/{step}", {"client_id": self.client})
        self.running()
        return self

    def follow(self):
        """Every event of its bus, for as long as it lives."""
        with contextlib.suppress(OSError, http.client.HTTPException, ValueError, AttributeError):
            request = urllib.request.Request(f"http://127.0.0.1:{self.port}/api/stream", headers={"Authorization": f"Bearer {self.token}"})
            with urllib.request.urlopen(request, timeout=120) as stream:
                for line in stream:
                    if line.startswith(b"data: {"):
                        self.events.append(json.loads(line[6:]))

    def state(self, entity):
        try:
            return self.api("GET", f"states/{entity}")
        except urllib.error.HTTPError as error:
            if error.code == 404:
                return None
            raise

    def says(self, entity):
        found = self.state(entity)
        return found and found["state"]

    def act(self, action, entity=None, **data):
        domain, name = action.split(".")
        return self.api("POST", f"services/{domain}/{name}", {**({"entity_id": entity} if entity else {}), **data})

    def ask(self, kind, **more):
        """One command of its WebSocket."""
        with Talk(self) as talk:
            return talk.ask(kind, **more)

    def complaints(self, watched, ordinary=()):
        """What it has complained about since it was last asked."""
        text = self.said
        new, self.read = text[self.read:], len(text)
        # A complaint may have lines that follow.
        parts = re.split(r"(?m)^(?=(?:\x1b\[[\d;]*m)?\d{4}-\d\d-\d\d \d\d:)", new)
        return [part.strip()[:600] for part in parts if watched.search(part) and not any(word in part for word in ordinary)]

    def stop(self, number=signal.SIGTERM):
        if self.process and self.process.poll() is None:
            self.process.send_signal(number)
            try:
                self.process.wait(60)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait(20)


class Talk:
    """A connection of its WebSocket, signed in."""

    def __init__(self, house, seconds=30):
        house.api("GET", "config")
        self.connection, self.number = socket.create_connection(("127.0.0.1", house.port), seconds), 0
        key = base64.b64encode(os.urandom(16)).decode()
        self.connection.sendall("\r\n".join((
            "GET /api/websocket HTTP/1.1", "Host: 127.0.0.1", "Upgrade: websocket", "Connection: Upgrade", "Sec-WebSocket-Version: 13",
            f"Sec-WebSocket-Key: {key}", "", "")).encode())
        self.file = self.connection.makefile("rb")
        while self.file.readline() not in (b"\r\n", b""):
            pass
        self.take()
        self.give({"type": "auth", "access_token": house.token})
        assert self.take()["type"] == "auth_ok"

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def take(self):
        while True:
            head = self.file.read(2)
            if len(head) < 2:
                raise ConnectionError("Home Assistant has closed its WebSocket")
            length = head[1] & 127
            if length > 125:
                length = struct.unpack(">H" if length == 126 else ">Q", self.file.read(2 if length == 126 else 8))[0]
            data = self.file.read(length)
            if head[0] & 15 == 1:
                return json.loads(data)

    def give(self, value):
        data = json.dumps(value).encode()
        head = bytes([0x81]) + (bytes([0x80 | len(data)]) if len(data) < 126 else b"\xfe" + struct.pack(">H", len(data)))
        self.connection.sendall(head + b"\0\0\0\0" + data)

    def ask(self, kind, **more):
        self.number += 1
        self.give({"id": self.number, "type": kind, **more})
        while (answer := self.take()).get("type") != "result":
            pass
        assert answer["success"], answer
        return answer["result"]

    def close(self):
        with contextlib.suppress(OSError):
            self.connection.close()
