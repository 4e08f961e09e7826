"""Somebody else's client, as a process of its own: asks 200 times a second over one connection, and says when it asked and how
long the answer took. `timed_client.py PORT` is the process; `TimedClient` starts it for a check."""

import atexit
import http.client
import pathlib
import subprocess
import sys
import threading
import time

PAUSE = 0.005


class TimedClient:
    def __init__(self, port):
        self.times = []  # (when it asked, milliseconds)
        self.failures = []
        self.process = subprocess.Popen([sys.executable, pathlib.Path(__file__), str(port)], stdout=subprocess.PIPE, text=True)
        atexit.register(self.process.kill)
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self):
        for line in self.process.stdout:
            at, milliseconds, status = line.split()
            self.times.append((float(at), float(milliseconds)))
            if status != "200":
                self.failures.append(status)

    def during(self, *spans):
        """Round trips that began in one of these spans of `time.monotonic`, sorted, in milliseconds."""
        # Whatever it is waiting for now belongs in there too.
        last = max(end for _, end in spans)
        while not self.times or self.times[-1][0] < last:
            if self.process.poll() is not None:
                raise RuntimeError(f"the bystander ended with {self.process.returncode}")
            time.sleep(0.01)
        return sorted(ms for at, ms in list(self.times) if any(start <= at < end for start, end in spans))


def ask(port):
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    while True:
        at, start = time.monotonic(), time.perf_counter()
        connection.request("GET", "/v1/status")
        answer = connection.getresponse()
        answer.read()
        print(f"{at} {(time.perf_counter() - start) * 1000} {answer.status}", flush=True)
        time.sleep(PAUSE)


if __name__ == "__main__":
    ask(int(sys.argv[1]))
