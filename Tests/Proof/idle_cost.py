"""What the program costs when nothing happens, and to start: size, time to the first answer, memory, CPU, wake-ups, lines. For the
release build; the debug one has no bar to hold."""

import os
import pathlib
import re
import socket
import statistics
import subprocess
import time

from harness import LADLE, DemoGateway, EventStream, Serve, Tally, cpu, free_port, options, scratch

chosen = options(starts=(10, 30), seconds=(20, 60))
tally = Tally()
linked = subprocess.run(["ldd", LADLE], capture_output=True, text=True).stdout
is_release = "libswift" not in linked
size = os.path.getsize(LADLE)
libraries = sorted(re.findall(r"^\s*(\S+)\.so", linked, re.M))
print(f"size: {size / 1e6:.1f} MB, with {' '.join(libraries)}")
if is_release:
    tally.check(size < 20_000_000, f"{size} bytes")


def first_answer():
    """From the start of the process to an answer, by a client that asks every millisecond."""
    port = free_port()
    state = scratch()
    began = time.perf_counter()
    ladle = subprocess.Popen([LADLE, "serve", "--state", state, "--listen", f"127.0.0.1:{port}", "--gateway", "ws://127.0.0.1:9"],
                             stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        while time.perf_counter() - began < 20:
            try:
                with socket.create_connection(("127.0.0.1", port), 20) as connection:
                    connection.sendall(f"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n\r\n".encode())
                    if connection.recv(4096).startswith(b"HTTP/1.1 200"):
                        return time.perf_counter() - began
            except ConnectionRefusedError:
                time.sleep(0.001)
        return 20
    finally:
        ladle.terminate()
        ladle.wait(20)


times = sorted(first_answer() for _ in range(chosen.starts))
print(f"start-up to the first answer: {times[0] * 1000:.0f} ms at best, {statistics.median(times) * 1000:.0f} ms in the middle")
# The best one, for another program's turn on the processor is not ours.
tally.check(times[0] < (0.05 if is_release else 0.5), f"start-up: {times[0]:.3f} s")


def usage(pid):
    """CPU seconds, and how often a thread was woken."""
    wakes = 0
    for thread in pathlib.Path(f"/proc/{pid}/task").iterdir():
        wakes += int(re.search(r"^voluntary_ctxt_switches:\s+(\d+)", (thread / "status").read_text(), re.M).group(1))
    return cpu(pid), wakes


gateway = DemoGateway()
server = Serve(gateway=gateway.url).linked()
for streams in (0, 100):
    held = [EventStream(server) for _ in range(streams)]
    time.sleep(8)
    lines = len(server.lines)
    before, begun = usage(server.process.pid), time.monotonic()
    time.sleep(chosen.seconds)
    after, took = usage(server.process.pid), time.monotonic() - begun
    share, wakes, memory = (after[0] - before[0]) / took, (after[1] - before[1]) / took, server.resident() / (1 << 20)
    print(f"idle with {streams} streams: {share * 100:.2f} % of a processor, {wakes:.1f} wake-ups a second, {memory:.1f} MiB")
    tally.check(share < 0.005, f"{streams} streams: {share * 100:.2f} % of a processor")
    # One a second is Dispatch's, which looks after its pool of threads; heartbeats of streams come at once for all.
    tally.check(wakes < 3, f"{streams} streams: {wakes:.1f} wake-ups a second")
    tally.check(len(server.lines) == lines, f"lines while nothing happens: {server.lines[lines:]}")
    if streams == 0 and is_release:
        tally.check(memory < 20, f"{memory:.1f} MiB")
tally.end()
