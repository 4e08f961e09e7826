"""What goes on, on a terminal from 40 to 200 columns: the running step below the text that comes, steps that change in place,
Ctrl-C, no colour; the same in a pipe; and servers that are slow, silent or broken."""

import pathlib
import re
import socket
import subprocess
import threading

from harness import LADLE, DemoGateway, Serve, Tally, on_terminal, options, run_ladle, scratch, until
from screen import Screen

options()
tally = Tally()

gateway = DemoGateway("--speed", "20")
server = Serve(gateway=gateway.url).linked()
ENV = {"LADLE_SOCKET": server.state + "/ladle.sock"}
ASKED = "append the weather to weather.txt"
reply = run_ladle("send", "--wait", ASKED, env={**ENV, "HOME": scratch()}).stdout

for columns in (40, 57, 80, 200):
    for colours in ({}, {"NO_COLOR": "1"}):
        code, written = on_terminal([LADLE, "send", "--wait", ASKED], columns, {**ENV, **colours})
        lines = Screen(columns, written).lines
        tally.check(code == 0, f"{columns} columns: exit {code}")
        steps = [line for line in lines if line.startswith("✓ ")]
        tally.check(steps and not [line for line in lines if line.startswith("• ")], f"{columns} columns, steps that have ended: {lines}")
        told = "".join(lines[lines.index(steps[-1]) + 1:])
        tally.check(re.sub(r"\s", "", reply) in re.sub(r"\s", "", told), f"{columns} columns, the reply once and whole: {told!r} {reply!r}")
        tally.check(b"\xe2\x80\xa2 " in written, f"{columns} columns, a running step was seen")
        tally.check(colours == {} or b"\x1b[3" not in re.sub(rb"\x1b\[\d+C", b"", written), "no colour with NO_COLOR")
code, written = on_terminal([LADLE, "send", "--wait", ASKED], 80, {**ENV, "TERM": "dumb"})
tally.check(code == 0 and b"\x1b" not in written, f"no code at all on a dumb terminal: {written}")

# The text comes while the run goes on.
slow = DemoGateway("--speed", "2")
waiting = Serve(gateway=slow.url).linked()
code, written = on_terminal([LADLE, "send", "--wait", ASKED], 80, {"LADLE_SOCKET": waiting.state + "/ladle.sock"}, leave_at="Done: I")
tally.check(code == 130 and b"goes on without you" in written, f"Ctrl-C behind the first words: {code} {written}")

def say_to_watcher():
    until(lambda: server.status()["events"]["subscribers"] == 1, what="the watcher")
    run_ladle("send", "--wait", ASKED, env={**ENV, "HOME": "/"})


# Watching: who said it, the steps in place, the reply once; local time with seconds.
for columns, zone in ((40, "UTC"), (80, "Asia/Tokyo"), (200, "UTC")):
    command = [LADLE, "watch", "--timeout", "6"]
    sender = threading.Thread(target=say_to_watcher)
    sender.start()
    code, written = on_terminal(command, columns, {**ENV, "TZ": zone})
    sender.join()
    text = "\n".join(Screen(columns, written).lines)
    joined = re.sub(r"\s", "", text)
    tally.check(code == 0, f"watch ends at its time: {code}")
    tally.check(joined.count(re.sub(r"\s", "", "you: " + ASKED)) == 1, f"{columns} columns, the message once: {text}")
    tally.check(joined.count(re.sub(r"\s", "", "agent: " + reply)) == 1, f"{columns} columns, the reply once: {text}")
    tally.check("✓" in text and "•" not in text, f"{columns} columns, only steps that have ended stay: {text}")
    tally.check("queued" not in text and "started" not in text, f"{columns} columns, nothing else: {text}")
    tally.check(re.search(r"^\d\d:\d\d:\d\d ", text, re.M), "times have seconds")
code, written = on_terminal([LADLE, "watch"], 80, ENV, leave_at="Watching")
tally.check(code in (130, -2), f"Ctrl-C ends watch: {code}")
piped = subprocess.Popen([LADLE, "watch", "--timeout", "6", "--verbose"], stdout=subprocess.PIPE, text=True, env={**ENV, "HOME": "/"})
say_to_watcher()
told = piped.communicate(timeout=20)[0]
tally.check("\x1b" not in told and "outbox" in told and "started" in told and "✓" in told, f"verbose, in a pipe: {told}")


# A command that waits for an approval is asked about in place, and one key answers.
def waiting_commands():
    return server.json("GET", "/v1/approvals")[1]["approvals"]


QUESTION = "? a allows it once"
for columns in (40, 80):
    for key, told in ((b"a", "Done: hi there"), (b"d", "user-denied")):
        asked = [LADLE, "send", "--wait", "--session", f"ask-{columns}{key.decode()}", "approve echo hi there"]
        code, written = on_terminal(asked, columns, ENV, answers=[(QUESTION, key)])
        text = "\n".join(Screen(columns, written).lines)
        joined = re.sub(r"\s", "", text)
        tally.check(code == 0 and re.sub(r"\s", "", told) in joined, f"{columns} columns, {key}: {code} {text}")
        tally.check(joined.count("echohithere") >= 1 and QUESTION not in text, f"{columns} columns, the command stays and the question goes: {text}")
        tally.check(not waiting_commands(), "and it was decided")
# Typed before anybody could read the question, or another key, or in a pipe: no answer.
asked = [LADLE, "send", "--wait=3", "--session", "early", "approve echo early"]
code, written = on_terminal(asked, 80, ENV, keys=b"aaaa", answers=[(QUESTION, b"x"), (QUESTION, b"\x1b[A"), (QUESTION, b"\r")])
tally.check(code == 75 and [row["command"] for row in waiting_commands()] == ["echo early"], f"no answer: {code} {waiting_commands()}")
code, written = on_terminal(["/bin/sh", "-c", f"'{LADLE}' watch --timeout 2 < /dev/null"], 80, ENV, keys=b"a", seconds=10)
tally.check(code == 0 and QUESTION.encode() not in written and b"\x1b[2K?" not in written, f"no question without a keyboard: {written}")
# Watching asks about what waits already; Ctrl-C is no answer; then one key is.
code, written = on_terminal([LADLE, "watch"], 80, ENV, leave_at=QUESTION)
tally.check(code in (130, -2) and len(waiting_commands()) == 1, f"Ctrl-C at a question: {code}")
code, written = on_terminal([LADLE, "send", "--wait", "--session", "left", "approve echo left"], 80, ENV, leave_at=QUESTION)
tally.check(code == 130 and b"goes on without you" in written and len(waiting_commands()) == 2, f"Ctrl-C at the question of a send: {code} {written}")
code, written = on_terminal([LADLE, "watch", "--timeout", "8"], 80, ENV, answers=[(QUESTION, b"d"), ("denied", b"d")])
tally.check(code == 0 and b"denied" in written and not waiting_commands(), f"denied from watch: {code} {written}")
# Control characters of a command do not reach the terminal.
wicked = "approve echo \u202egnp.exe\u200b; printf x"
code, written = on_terminal([LADLE, "send", "--wait", "--session", "wicked", wicked], 80, ENV, answers=[(QUESTION, b"d")])
tally.check("\\u{202E}" in written.decode() and "\u202e" not in written.decode().split(QUESTION)[0], f"directions are shown as codes: {written}")


# Servers that are no good.
class Fake:
    """Answers every connection with these pieces, then closes it; or keeps it open without a word."""

    def __init__(self, *pieces, keeps=False):
        self.path = str(pathlib.Path(scratch(), "s"))
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.bind(self.path)
        self.socket.listen()
        self.kept = []
        threading.Thread(target=self.serve, args=(pieces, keeps), daemon=True).start()

    def serve(self, pieces, keeps):
        while True:
            connection = self.socket.accept()[0]
            connection.recv(65536)
            for piece in pieces:
                connection.sendall(piece)
                threading.Event().wait(0.05)
            self.kept.append(connection) if keeps else connection.close()


HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 26\r\n\r\n"
for name, fake, wanted in [
    ("slow", Fake(*[bytes([byte]) for byte in HEAD[:9]], HEAD[9:], b'{"active":0,', b'"runs": [] ', b" } "), 0),
    ("closes at once", Fake(), 75),
    ("half an answer", Fake(HEAD, b"{"), 75),
    ("no HTTP", Fake(b"SSH-2.0-OpenSSH\r\n\r\n"), 70),
    ("no JSON", Fake(HEAD, b"x" * 26), 70),
]:
    run = run_ladle("activity", "--socket", fake.path, env={"HOME": "/"})
    tally.check(run.returncode == wanted, f"{name}: exit {run.returncode}, {run.stderr}{run.stdout}")
    tally.check(wanted == 0 or run.stderr.startswith("ladle: "), f"{name}: {run.stderr}")
silent = Fake(keeps=True)

for arguments in (["status"], ["send", "--wait", "x"], ["watch"]):
    client = subprocess.Popen([LADLE, *arguments, "--socket", silent.path], stdout=subprocess.PIPE, stderr=subprocess.PIPE, env={"HOME": "/"})
    until(lambda: silent.kept, what="the connection")
    silent.kept.clear()
    client.send_signal(2)
    tally.check(client.wait(20) in (130, -2), f"Ctrl-C while {arguments[0]} waits for a silent server: {client.returncode}")
tally.end()
