"""A disk that is full, one that fails, and a database that is damaged or from the future: nothing accepted is lost, sends
are refused with the right word, reads go on, and a person is told what to do."""

import json
import os
import pathlib
import resource
import shutil
import sqlite3
import subprocess
import sys

from harness import DemoGateway, NotStarted, Serve, Tally, later, options, run_ladle, scratch, until

OPTIONS = options()
LATER = later()
AWAY = "ws://127.0.0.1:9"


def own_mounts():
    """Runs the rest in a mount namespace of its own, where a small disk can be had; False where that is not allowed."""
    if os.environ.get("PROOF_OWN_MOUNTS"):
        return True
    for command in (["unshare", "-m"], ["unshare", "-rm"]):
        if shutil.which("unshare") and subprocess.run([*command, "true"], stderr=subprocess.DEVNULL).returncode == 0:
            os.environ["PROOF_OWN_MOUNTS"] = "1"
            os.execvp(command[0], [*command, sys.executable, *sys.argv])
    return False


def send(ladle, text, **more):
    status, fields, body = ladle.call("POST", "/v1/messages", {"text": text, **more})
    return status, fields, json.loads(body)


def kept(ladle):
    found, before = [], ""
    while True:
        page = ladle.json("GET", f"/v1/outbox?limit=500{before}")[1]
        found += page["entries"]
        if "before" not in page:
            return {entry["id"] for entry in found}
        before = f"&before={page['before']}"


def full(tally):
    disk = scratch()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=4m,mode=700", "tmpfs", disk], check=True)
    ballast = pathlib.Path(disk, "ballast")
    ballast.write_bytes(b"x" * (1 << 20))
    ladle = Serve(state=disk, gateway=AWAY)
    tally.check(pathlib.Path(disk, "ladle.reserve").stat().st_size == 512 << 10, "room is kept")
    tokens = [ladle.json("POST", "/v1/tokens", {"name": f"stolen {n}", "scopes": ["read"]})[1] for n in range(20)]

    def opened():
        # After some wrong guesses further ones are put off (429).
        return [t["id"] for t in tokens
                if ladle.call("GET", "/v1/status", headers={"Authorization": f"Bearer {t['token']}"})[0] == 200]
    accepted, refused = set(), None
    for number in range(200):
        status, fields, answer = send(ladle, f"{number} " + "x" * 60_000, notBefore=LATER)
        if status != 202:
            refused = status, fields, answer
            break
        accepted.add(answer["id"])
    tally.check(len(accepted) > 10, f"{len(accepted)} messages fit")
    tally.check(refused and refused[0] == 507 and refused[2]["code"] == "STORAGE_FULL", f"then 507: {refused}")
    tally.check(refused and "retry-after" in refused[1], "507 says when to try again")
    with ballast.open("ab", buffering=0) as file:
        try:
            while file.write(b"x" * 4096):
                pass
        except OSError:
            pass
    answers = [send(ladle, f"small {number}")[0] for number in range(20)]
    tally.check(507 in answers, f"with no byte left small ones are refused too: {answers}")
    accepted_small = kept(ladle) - accepted
    tally.check(len(accepted_small) == answers.count(202), "a refused one is not stored")
    accepted |= accepted_small
    for path in ("/v1/outbox", "/v1/status", "/v1/runs", "/v1/activity", "/healthz"):
        tally.check(ladle.call("GET", path)[0] == 200, f"{path} is read on a full disk")
    tally.check(ladle.call("GET", "/readyz")[0] == 503, "readyz says that a send would be refused")
    tally.check(len(opened()) == 20, "the tokens count")
    renewed = ladle.json("POST", f"/v1/tokens/{tokens[0]['id']}/rotate")
    tally.check(renewed[0] == 200 and len(opened()) == 19, f"there is room for a new secret in the place of a stolen one: {renewed}")
    revoked = [ladle.call("DELETE", f"/v1/tokens/{token['id']}")[0] for token in tokens]
    tally.check(set(revoked) <= {200, 204}, f"there is room to revoke them: {revoked}")
    ladle.kill()
    try:
        ladle = Serve(state=disk, gateway=AWAY)
        tally.check(kept(ladle) >= accepted, "after a kill on the full disk everything is readable")
        listed = ladle.json("GET", "/v1/tokens")[1]["tokens"]
        tally.check(not opened() and not [t for t in listed if t["name"].startswith("stolen")],
                    f"and the revoked tokens stay revoked: {listed}")
        ladle.kill()
    except NotStarted as refusal:
        tally.check(False, f"it starts on a full disk: {refusal}")
    ballast.unlink()
    ladle = Serve(state=disk, gateway=AWAY)
    tally.check(kept(ladle) >= accepted, f"all {len(accepted)} accepted are there once there is room")
    tally.check(until(lambda: send(ladle, "room again")[0] == 202), "and sends are taken again")
    ladle.kill()
    subprocess.run(["umount", "-l", disk])


def failing(tally):
    gateway = DemoGateway()
    ladle = Serve(gateway=gateway.url, restore_signals=False).linked()
    ids = {send(ladle, f"before {number}")[2]["id"] for number in range(3)}
    until(lambda: ladle.json("GET", "/v1/outbox")[1]["pending"] == 0)
    limits = resource.prlimit(ladle.process.pid, resource.RLIMIT_FSIZE)
    resource.prlimit(ladle.process.pid, resource.RLIMIT_FSIZE, (4096, limits[1]))
    status, fields, answer = send(ladle, "lost?")
    tally.check(status == 503 and answer["code"] == "STORE_UNAVAILABLE", f"a failing write: {status} {answer}")
    tally.check("retry-after" in fields, "503 says when to try again")
    tally.check(kept(ladle) == ids, "nothing of it is stored, and reads go on")
    tally.check(ladle.call("GET", "/readyz")[0] == 503, "readyz says so")
    resource.prlimit(ladle.process.pid, resource.RLIMIT_FSIZE, limits)
    tally.check(until(lambda: send(ladle, "after")[0] == 202), "a disk that works again is used again")
    until(lambda: ladle.json("GET", "/v1/outbox")[1]["pending"] == 0)
    tally.check(len(kept(ladle)) == 4, "each is there once")
    ladle.kill()
    gateway.kill()


def recover(*arguments):
    done = run_ladle("outbox", "recover", *arguments)
    return done.returncode, done.stdout + done.stderr


def unusable(tally, what, ruin, count):
    gateway = DemoGateway()
    ladle = Serve(gateway=AWAY)
    state = pathlib.Path(ladle.state)
    ids = {send(ladle, f"{what} {number}", session=f"s{number}")[2]["id"] for number in range(5)}
    tally.check(recover("--state", str(state)) == (0, f"nothing is set aside in {state}\n"), f"{what}: nothing set aside yet")
    ladle.stop()
    ruin(state / "ladle.db")
    ladle = Serve(state=str(state), gateway=gateway.url)
    tally.check("ladle outbox recover" in ladle.output, f"{what}: the start names the way out")
    for restarted in (False, True):
        status, _, answer = send(ladle, "no")
        tally.check((status, answer.get("code"), answer.get("hint")) == (503, "STORE_UNAVAILABLE", f"ladle outbox recover --state {state}"),
                    f"{what}, restarted {restarted}: sends are refused: {status} {answer}")
        tally.check(ladle.json("GET", "/v1/outbox")[1]["entries"] == [], f"{what}: reads go on")
        tally.check(ladle.json("GET", "/v1/messages")[0] == 200, f"{what}: messages are read")
        if not restarted:
            ladle.kill()
            ladle = Serve(state=str(state), gateway=gateway.url)
    code, text = recover("--state", str(state))
    tally.check(code == 0 and str(next(state.glob("set-aside-*"))) in text, f"{what}: recover says where it is: {text}")
    tally.check(f"{count} entries that can be read" in text and "--restore" in text, f"{what}: and what is in it: {text}")
    plain = run_ladle("outbox", "recover", env={"LADLE_STATE": str(state)})
    # Each names the place as the command line before it did.
    tally.check(plain.stdout == text.replace(f" --state {state}", ""), f"{what}: it looks where the configuration says: {plain}")
    tally.check(f"ladle outbox recover --state {state} --restore" in text, f"{what}: and what to type next: {text}")
    code, text = recover("--state", str(state), "--restore")
    tally.check(code == 75 and "stop ladle serve" in text, f"{what}: not while it is served: {code} {text}")
    ladle.stop()
    code, text = recover("--state", str(state), "--restore")
    tally.check(code == 0 and f"{count} are in the outbox again" in text, f"{what}: restored: {code} {text}")
    ladle = Serve(state=str(state), gateway=gateway.url)
    tally.check(send(ladle, "yes")[0] == 202, f"{what}: sends are taken again")
    until(lambda: ladle.json("GET", "/v1/outbox")[1]["pending"] == 0)
    restored = {entry["id"] for entry in ladle.json("GET", "/v1/outbox?state=delivered")[1]["entries"]} & ids
    tally.check(len(restored) == count, f"{what}: {len(restored)} of 5 are delivered after all")
    ladle.kill()
    gateway.kill()


def newer(path):
    with sqlite3.connect(path) as database:
        database.execute("UPDATE schema_version SET version = 99 WHERE module = 'outbox'")
    database.close()


def damaged(path):
    path.write_bytes(b"A" * 20_000)


def lost(tally, what, ruin, words):
    """Damage that SQLite takes for a new or a shorter database, after a kill."""
    ladle = Serve(gateway=AWAY)
    state = pathlib.Path(ladle.state)
    ids = {send(ladle, f"{what} {number}", session=f"s{number}", notBefore=LATER)[2]["id"] for number in range(20)}
    ladle.kill()
    again = Serve(state=str(state), gateway=AWAY)
    tally.check(send(again, "one more", notBefore=LATER)[0] == 202 and kept(again) > ids, f"{what}: a kill alone is none")
    again.kill()
    ruin(state)
    ladle = Serve(state=str(state), gateway=AWAY)
    tally.check("ladle outbox recover" in ladle.output and words in ladle.output, f"{what}: the start says so: {ladle.output}")
    status, _, answer = send(ladle, "no")
    tally.check((status, answer.get("code")) == (503, "STORE_UNAVAILABLE"), f"{what}: sends are refused: {status} {answer}")
    tally.check(ladle.call("GET", "/readyz")[0] == 503, f"{what}: readyz says so")
    told = ladle.status()["outbox"].get("closed", "")
    text = ladle.call("GET", "/v1/status", headers={"Accept": "text/plain"})[2].decode()
    tally.check(words in told and words in text, f"{what}: the status says so: {told} {text}")
    for serving in (True, False):
        doctor = run_ladle("doctor", "--state", str(state))
        tally.check(doctor.returncode != 0 and words in doctor.stdout and "ladle outbox recover" in doctor.stdout,
                    f"{what}: the doctor, serving {serving}: {doctor.stdout}")
        if serving:
            ladle.stop()
    code, text = recover("--state", str(state), "--restore")
    tally.check(code == 0 and "are in the outbox again" in text, f"{what}: what is left can be taken back: {code} {text}")
    ladle = Serve(state=str(state), gateway=AWAY)
    tally.check(send(ladle, "yes")[0] == 202, f"{what}: then sends are taken again")
    print(f"{what}: {len(kept(ladle) & ids)} of 20 messages are back")
    ladle.kill()


def flip(state):
    log = state / "ladle.db-wal"
    content = bytearray(log.read_bytes())
    for place in range(len(content) // 2, len(content) // 2 + 20):
        content[place] ^= 0xFF
    log.write_bytes(content)


def main():
    tally = Tally()
    if own_mounts():
        full(tally)
    else:
        print("no mount namespace here: the full disk is left out")
    failing(tally)
    unusable(tally, "a newer database", newer, 5)
    unusable(tally, "a damaged database", damaged, 0)
    lost(tally, "a missing file", lambda state: (state / "ladle.db").unlink(), "the database is missing, but its log")
    lost(tally, "an empty file", lambda state: (state / "ladle.db").write_bytes(b""), "the database is empty, but its log")
    lost(tally, "a damaged log", flip, "accepted messages")
    tally.end()


main()
