"""Clients in compiled languages: a program of one makes the calls of steps.py, which it gets one a line, and tells the typed answers.

Each goes through `Between`, which keeps the answer as it was on the wire: what the program read is compared with that. Go finds its
functions while it runs. Rust and Swift cannot, so that `write` makes one case for each function that their generators wrote."""

import contextlib
import http.client
import http.server
import io
import json
import pathlib
import re
import subprocess
import threading

import steps


def plain(name):
    return re.sub(r"^r#|[_-]", "", name).lower()


def with_days(typed, wire):
    """Swift has one type for days and times, and writes a day as its midnight: as the day again where the wire has one."""
    if isinstance(typed, dict) and isinstance(wire, dict):
        return {name: with_days(value, wire.get(name)) for name, value in typed.items()}
    if isinstance(typed, list) and isinstance(wire, list) and len(typed) == len(wire):
        return [with_days(*both) for both in zip(typed, wire)]
    is_day = isinstance(wire, str) and re.fullmatch(r"\d{4}-\d\d-\d\d", wire) and typed == f"{wire}T00:00:00.000Z"
    return wire if is_day else typed


class Between:
    """Hands every request to Ladle, and keeps what it answered to the last one."""

    def __init__(self, port):
        between = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def pass_on(self):
                size = self.headers.get("Content-Length")
                body = self.rfile.read(int(size)) if size else self.chunks() if self.headers.get("Transfer-Encoding") else None
                connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
                fields = {name: value for name, value in self.headers.items() if name.lower() not in ("host", "transfer-encoding", "accept-encoding")}
                connection.request(self.command, self.path, body, {**fields, "Host": f"127.0.0.1:{port}"})
                answer = connection.getresponse()
                data = answer.read()
                connection.close()
                between.last = answer.status, {name.lower(): value for name, value in answer.getheaders()}, data
                self.send_response(answer.status)
                for name, value in answer.getheaders():
                    if name.lower() not in ("transfer-encoding", "content-length", "connection", "date", "server"):
                        self.send_header(name, value)
                if answer.status != 204:
                    self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            def chunks(self):
                read = b""
                while size := int(self.rfile.readline().split(b";")[0], 16):
                    read += self.rfile.read(size)
                    self.rfile.readline()
                self.rfile.readline()
                return read

            do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = pass_on

            def log_message(self, *said):
                pass

        self.last = None
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()


def calls(name, later, port, contract, folder, *command, env):
    """All steps by the program; what `steps.run` prints of them."""
    between = Between(port)
    picture = pathlib.Path(folder, f"{name}.png")
    picture.write_bytes(steps.png())
    paths = {operation["operationId"]: re.findall(r"\{(\w+)\}", path) for path, methods in contract["paths"].items()
             for operation in methods.values()}
    program = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env={**env, "LADLE_URL": between.url})

    def call(operation, parameters, body, form):
        between.last = None
        in_path = [str(parameters[word]) for word in paths[operation]]
        fields = {plain(word): value for word, value in parameters.items()}
        program.stdin.write(json.dumps({"operation": operation, "path": in_path, "parameters": fields,
                                        "body": str(picture) if body == "png" else body}) + "\n")
        program.stdin.flush()
        if not (line := program.stdout.readline()):
            raise RuntimeError(f"{name} ended with {program.wait()}")
        said = json.loads(line)
        if said.get("absent"):
            return None
        if "fault" in said:
            raise RuntimeError(f"{said['fault']} (of {between.last})")
        if not between.last:
            raise RuntimeError("it made no request")
        status, fields, data = between.last
        wire = json.loads(data) if data and "json" in fields.get("content-type", "") else None
        return status, fields, data, with_days(said["typed"], wire), ""

    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        steps.run(name, later, call)
    program.stdin.close()
    program.wait(20)
    between.server.shutdown()
    return json.loads(printed.getvalue())


def operations(contract):
    """The names of parameters, plainly written, behind the plain name of each operation, with its true name."""
    found = {}
    for methods in contract["paths"].values():
        for operation in methods.values():
            named = [contract["components"]["parameters"][one["$ref"].rsplit("/", 1)[1]] if "$ref" in one else one
                     for one in operation.get("parameters", ())]
            found[plain(operation["operationId"])] = operation["operationId"], {plain(one["name"]) for one in named}
    return found


def rust(contract, generated):
    """The cases of `match`, for rust/examples/calls.rs."""
    cases = []
    for file in sorted(generated.glob("src/apis/*_api.rs")):
        functions = re.findall(r"pub async fn (\w+)\(configuration: &configuration::Configuration, (.*?)\) -> Result<(.*), Error<", file.read_text())
        for name, parameters, result in functions:
            operation, known = operations(contract)[plain(name)]
            words = ["pictures" if "PathBuf" in parameters else "to"]
            for word, kind in re.findall(r"([\w#]+): ((?:[^,<]|<[^>]*>)+)", parameters):
                inner = re.sub(r"^Option<(.*)>$", r"\1", kind)
                optional, owned = inner != kind, "String" if inner == "&str" else inner
                taken = f'step.{"may" if optional else "must"}::<{owned}>("{plain(word) if plain(word) in known else ""}")?'
                words.append(f"{taken}.as_deref()" if optional and inner == "&str" else f"&{taken}" if inner == "&str" else taken)
            unread = ".map(drop)" if result == "reqwest::Response" else ""
            cases.append(f'        "{operation}" => told({file.stem}::{name}({", ".join(words)}).await{unread}),')
    return "match step.operation.as_str() {\n" + "\n".join(cases) + "\n        _ => Ok(json!({\"absent\": true})),\n    }\n"


def swift(contract, generated):
    """A function of one `switch`, for calls.swift."""
    cases = []
    for file in sorted(generated.glob("Sources/OpenAPIClient/APIs/*.swift")):
        functions = re.findall(r"open class func (\w+)\((.*?)apiConfiguration: \w+ = .*?\) async throws\(ErrorResponse\)( -> \S+)? \{", file.read_text())
        for name, parameters, result in functions:
            operation, known = operations(contract)[plain(name)]
            words = []
            for word, kind in re.findall(r"(\w+): ([\w.]+\??)", parameters):
                place = plain(word) if plain(word) in known else ""
                # A list of words of one parameter is a type of its service, and cannot be decoded.
                enumeration, kind = re.fullmatch(r"(\w+_\w+)\?", kind), "String?" if "_" in kind else kind
                taken = f'try step.{"may" if kind[-1] == "?" else "must"}("{place}", {kind.rstrip("?")}.self)'
                words.append(f"{word}: {taken}" + (f".flatMap({file.stem}.{enumeration[1]}.init)" if enumeration else ""))
            made = f"try await {file.stem}.{name}({', '.join(words)})"
            cases.append(f'    case "{operation}": {f"return try told({made})" if result else made}')
    return ("import Foundation\n\nfunc call(_ step: OneCall) async throws -> String {\n    switch step.operation {\n" + "\n".join(cases)
            + "\n    default: return \"{\\\"absent\\\": true}\"\n    }\n    return told\n}\n")
