"""Every route x every credential x every listener, against the built program: who is let in, who is refused, and with which words
(the short form: every route at every one with a third of the credentials).

A listener stands here for a way in and what the connection alone proves there: nothing, the owner, a tailnet identity. Root
gets a network of its own, with a tailnet and a LAN at whose other ends stand other machines; else those are left out.
"""

import array
import json
import os
import re
import socket
import time

import network

HAS_NETWORK = network.enter()

from harness import Serve, Tally, options, routes, scratch, until
from network import LAN, NODE, Tailscaled, node, ok
from raw_http import ask, ask_h2, certificate, tcp, unix

chosen = options()
tally = Tally()
net = network.Network() if HAS_NETWORK else None
if net:
    net.join()
IS_ROOT = os.geteuid() == 0
STRANGER = 12345

# -- the contract: which scope each operation asks for

NEEDS = {
    None: "getHealth applyForPairing pollPairing actOnApproval showApprovalLink",
    "read": "getCluster getAsyncAPI getMetrics getOpenAPIAsJSON getOpenAPIAsYAML getReadiness getActivity getGlance listAgents streamEvents getIdentity getAvatar "
            "listApprovals getApproval listMessages listOutbox getEntry getProfile listRuns getRun listSessions getStatus createTicket "
             "listModels getUsage getUsageCost listSessionUsage getSession markSessionRead listQuestions getQuestion "
             "listNotifications getQuietHours listNotificationRules getNotificationRule listSinks getSink listAutomations "
             "getAutomation listAutomationRuns listNodes getNode speakMessage listArtifacts getArtifact",
    "send": "createNotification sendMessage cancelEntry retryEntry abortRun abortSession wakeAgent "
            "openaiListModels openaiGetModel openaiGetAgentModel openaiChat openaiCreateResponse openaiGetResponse openaiDeleteResponse "
            "openaiCancelResponse openaiListInputItems openaiCreateConversation openaiGetConversation openaiUpdateConversation "
            "openaiDeleteConversation ollamaVersion ollamaListModels ollamaShowModel ollamaPull ollamaChat",
    "identity": "patchIdentity putIdentity deleteAvatar putAvatar patchProfile putProfile",
    "control": "createSession patchSession deleteSession resetSession compactSession patchAutomation runAutomation",
    "nodes": "invokeNode",
    "approvals": "decideApproval linkApproval answerQuestion listApprovalGrants revokeApprovalGrant",
    "admin": "beat getFrames getGatewayReport listPairing approvePairing rejectPairing listTokens createToken revokeToken rotateToken "
             "createInvitation getInvitation listInvitations cancelInvitation "
             "muteNotifications unmuteNotifications putQuietHours createNotificationRule patchNotificationRule deleteNotificationRule "
             "createSink patchSink deleteSink rotateSink testSink retryNotification",
}
# A token of every scope that opens few paths: each with all that is below it.
FEW = ["/v1/runs", "/v1/glance", "/v1/tickets"]
NARROW = "all, of a few paths"
SCOPES = ["read", "send", "identity", "control", "approvals", "nodes", "admin"]
scope_of = {operation: scope for scope, names in NEEDS.items() for operation in names.split()}


def route_table():
    """(operation, method, path, scope) of the program's own table; then what every resource has besides."""
    found = routes()
    missing = {name for name, _, _ in found} ^ set(scope_of)
    tally.check(not missing, f"say in this file which scope these need, or that they are gone: {missing}")
    rows = []
    for operation, method, path in found:
        real = re.sub(r"\{\w+\}", "00000000-0000-7000-8000-000000000000", path)
        real += "?poll=0" if operation == "streamEvents" else ""
        rows.append((operation, method.upper(), real, scope_of.get(operation)))
        if method == "get" and operation != "pollPairing":
            rows.append((f"{operation} by HEAD", "HEAD", real, scope_of.get(operation)))
    # What needs to be known as somebody, whoever it is.
    rows += [
        ("no such path", "GET", "/v1/no-such-path", "any"), ("a path above", "GET", "/v1/outbox/../tokens", "any"),
        ("a wrong method", "PATCH", "/v1/status", "any"), ("the methods of a path", "OPTIONS", "/v1/tokens", "any"),
        ("an unknown method", "FROB", "/v1/tokens", "unserved"),
    ]
    return rows


# -- credentials: (name, fields, scopes) where scopes is None for "counts, and is nobody's"

serve_arguments = ["--limits-auth-per-minute", "1000000", "--limits-pairing-per-minute", "1000000"]
folder = scratch()
os.chmod(folder, 0o755)
arguments = [*serve_arguments, "--listen", "[::1]:0", "--listen", f"unix:{folder}/open.sock"]
if net:
    daemon = Tailscaled(f"{folder}/tailscaled.sock")
    os.chown(daemon.path, STRANGER, STRANGER)
    arguments += [
        "--listen", "tailnet:7443", "--listen", f"{LAN}:7444", "--insecure-lan", "--access-tailnet-socket", daemon.path,
        "--access-tailnet-serve", f"{folder}/serve.sock"]
    for scope in SCOPES:
        arguments += ["--access-tailnet-allow", f"{scope}@example.com={scope}"]
serve = Serve(*arguments).linked()
port6 = int(until(lambda: re.search(r"http://\[::1\]:(\d+)", serve.output), what="the port on ::1")[1])


def make_token(server, name, scopes, **more):
    status, made = server.json("POST", "/v1/tokens", {"name": name, "scopes": scopes, **more})
    assert status == 201, made
    return made["token"]


def credentials(server):
    def bearer(token):
        return {"Authorization": f"Bearer {token}"}

    short = make_token(server, "short", ["admin"], expiresInSeconds=1)
    rows = [("none", {}, None), ("a wrong token", bearer("ldl_" + "0" * 49), ()), ("another scheme", {"Authorization": "Basic eDp5"}, ())]
    rows += [("an expired token", bearer(short), ())]
    rows += [(f"only {one}", bearer(make_token(server, f"only {one}", [one])), (one,)) for one in SCOPES]
    rest = [tuple(other for other in SCOPES[:-1] if other != one) for one in SCOPES]
    rows += [(f"all but {one}", bearer(make_token(server, f"but {one}", list(others))), others) for one, others in zip(SCOPES, rest)]
    bound = make_token(server, "bound", SCOPES[:-1], sessions=["agent:main:elsewhere"])
    rows += [("all, of one session", bearer(bound), tuple(SCOPES[:-1]))]
    few = make_token(server, "few", SCOPES[:-1], paths=FEW)
    rows += [(NARROW, bearer(few), tuple(SCOPES[:-1]))]
    time.sleep(1.1)
    return rows


# -- ways in: (name, connect, Host, fields, what the connection proves, server)

class Dialer:
    """A child that has become another user and connects to Unix sockets for us."""

    def __init__(self, uid):
        self.ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        if os.fork() == 0:
            self.ours.close()
            os.setgroups([])
            os.setgid(uid)
            os.setuid(uid)
            while path := theirs.recv(4096):
                try:
                    one = socket.socket(socket.AF_UNIX)
                    one.connect(path.decode())
                    theirs.sendmsg([b"x"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [one.fileno()]))])
                    one.close()
                except OSError as problem:
                    theirs.send(type(problem).__name__.encode())
            os._exit(0)
        theirs.close()

    def dial(self, path):
        self.ours.send(path.encode())
        said, numbers, _, _ = socket.recv_fds(self.ours, 100, 1)
        if not numbers:
            raise PermissionError(said.decode())
        return socket.socket(fileno=numbers[0])


PROXY = {"X-Forwarded-For": "127.0.0.1"}
control = f"{serve.state}/ladle.sock"
here = f"127.0.0.1:{serve.port}"
strict = Serve(*serve_arguments, "--access-loopback", "token")
files, trust = certificate(folder)
secure = Serve(*serve_arguments, *files)


def over_tls(uid=None):
    return trust.wrap_socket(tcp("127.0.0.1", secure.port, uid), server_hostname="localhost")


def control_of(server):
    """TLS or a strict loopback makes the control socket the owner's way in."""
    class Owner:
        def json(self, method, path, body=None):
            raw = ask(unix(f"{server.state}/ladle.sock"), method, path, "x", {}, json.dumps(body).encode() if body else None)
            return raw.status, raw.json
    return Owner()


def ways_in():
    """(name, server, connect, Host, fields, scopes the connection proves, how to ask)"""
    plain = [
        ("loopback, the owner", serve, lambda: tcp("127.0.0.1", serve.port), here, {}, ("admin",), ask),
        ("loopback over IPv6, the owner", serve, lambda: tcp("::1", port6), f"[::1]:{port6}", {}, ("admin",), ask),
        ("loopback, the owner by HTTP/2", serve, lambda: tcp("127.0.0.1", serve.port), here, {}, ("admin",), ask_h2),
        ("loopback, behind a proxy", serve, lambda: tcp("127.0.0.1", serve.port), here, PROXY, (), ask),
        ("loopback behind a proxy by HTTP/2", serve, lambda: tcp("127.0.0.1", serve.port), here, PROXY, (), ask_h2),
        ("loopback over TLS, the owner", secure, over_tls, f"127.0.0.1:{secure.port}", {}, ("admin",), ask),
        ("access.loopback=token, the owner", strict, lambda: tcp("127.0.0.1", strict.port), f"127.0.0.1:{strict.port}", {}, (), ask),
        ("its control socket", strict, lambda: unix(f"{strict.state}/ladle.sock"), "x", {}, ("admin",), ask),
        ("the control socket", serve, lambda: unix(control), "x", {}, ("admin",), ask),
        ("a Unix socket, the owner", serve, lambda: unix(f"{folder}/open.sock"), "x", {}, ("admin",), ask),
        ("a Unix socket, behind a proxy", serve, lambda: unix(f"{folder}/open.sock"), "x", PROXY, (), ask),
    ]
    if IS_ROOT:
        os.chmod(f"{folder}/open.sock", 0o666)
        other = Dialer(STRANGER)
        plain += [
            ("loopback, another user", serve, lambda: tcp("127.0.0.1", serve.port, STRANGER), here, {}, (), ask),
            ("loopback over IPv6, another user", serve, lambda: tcp("::1", port6, STRANGER), f"[::1]:{port6}", {}, (), ask),
            ("loopback, another user by HTTP/2", serve, lambda: tcp("127.0.0.1", serve.port, STRANGER), here, {}, (), ask_h2),
            ("loopback over TLS, another user", secure, lambda: over_tls(STRANGER), f"127.0.0.1:{secure.port}", {}, (), ask),
            ("a Unix socket, another user", serve, lambda: other.dial(f"{folder}/open.sock"), "x", {}, (), ask),
        ]
        try:
            other.dial(control)
            tally.check(False, "another user connects to the control socket")
        except PermissionError:
            tally.check(True, "")
    if net:
        def tailnet():
            return net.dial(NODE, 7443)

        def named(name, connect):
            def go():
                daemon.answer = ok(node(name))
                return connect()
            return go

        served = Dialer(STRANGER)
        plain += [
            ("the LAN", serve, lambda: net.dial(LAN, 7444), f"{LAN}:7444", {}, (), ask),
            ("the tailnet, nobody who is allowed", serve, named("mallory@example.com", tailnet), f"{NODE}:7443", {}, (), ask),
            # tailscaled would name this node's own user, whoever of this host it is.
            ("the tailnet's address, from this host", serve, named("admin@example.com", lambda: tcp(NODE, 7443, STRANGER)),
             f"{NODE}:7443", {}, (), ask),
            ("Serve's socket, not by tailscaled", serve, named("admin@example.com", lambda: unix(f"{folder}/serve.sock")), "x",
             {"Tailscale-User-Login": "admin@example.com", "X-Forwarded-For": "100.64.0.7"}, (), ask),
        ]
        for number, scope in enumerate(SCOPES):
            login = f"{scope}@example.com"
            plain += [
                (f"the tailnet, allowed {scope}", serve, named(login, tailnet), f"{NODE}:7443", {}, (scope,), ask),
                # Each from an address of its own: tailscaled's answer about one is good for 30 s.
                (f"Serve's socket, allowed {scope}", serve, named(login, lambda: served.dial(f"{folder}/serve.sock")), "x",
                 {"Tailscale-User-Login": login, "X-Forwarded-For": f"100.64.7.{number}"}, (scope,), ask),
            ]
        plain += [
            ("Funnel", serve, lambda: served.dial(f"{folder}/serve.sock"), "x",
             {"Tailscale-Funnel-Request": "?1", "Tailscale-User-Login": "admin@example.com", "X-Forwarded-For": "100.64.0.9"}, "funnel", ask),
        ]
    return plain


def late():
    """How often tailscaled's answer was not there in time, or not to be understood. Then nobody gets in; that is no fault."""
    return serve.metric("ladle_tailnet_silences_total")


def may(scopes, wanted):
    return wanted in scopes or "admin" in scopes or wanted == "any" and bool(scopes)


def lies_within(path):
    bare = path.partition("?")[0]
    return ".." not in bare and any(bare == one or bare.startswith(one + "/") for one in FEW)


def judge(where, row, answer, scopes, credential_sent, is_narrow):
    """What the contract says of this cell."""
    operation, method, path, wanted = row
    told = answer.json
    if is_narrow and wanted not in (None, "unserved") and not lies_within(path):
        good = answer.status == 403 and (method == "HEAD" or told.get("code") == "PATH_NOT_ALLOWED" and FEW[0] in told.get("detail", ""))
        return tally.check(good, f"{where}: {answer.status} {told} in place of 403 for its path")
    if wanted == "unserved":
        return tally.check(answer.status in (401, 403, 405, 501), f"{where}: {answer.status}")
    if wanted is None or may(scopes, wanted):
        return tally.check(
            (answer.status not in (0, 401, 421, 429, 500, 501) and told.get("code") not in ("MISSING_SCOPE", "CROSS_ORIGIN"))
            # The demo gateway has no questions; only one who is let in learns of it.
            # What the demo's release cannot do is refused behind the access.
            or answer.status == 501 and any(one in operation for one in ("Question", "speakMessage", "ApprovalGrant", "Artifact")),
            f"{where} is refused: {answer.status} {told.get('code')}")
    if not scopes:
        good = answer.status == 401 and answer.fields.get("www-authenticate", "").startswith("Bearer")
        good = good and ("invalid_token" in answer.fields["www-authenticate"]) == credential_sent
        if method != "HEAD":
            good = good and told.get("code") == "NOT_PAIRED" and "ladle token create" in told.get("hint", "")
        return tally.check(good, f"{where}: {answer.status} {told.get('code')} in place of 401 {answer.fields}")
    good = answer.status == 403 and f'scope="{wanted}"' in answer.fields.get("www-authenticate", "")
    if method != "HEAD":
        good = good and told.get("code") == "MISSING_SCOPE" and told.get("requiredScopes") == [wanted]
    return tally.check(good, f"{where}: {answer.status} {told} in place of 403 {wanted}")


rows = route_table()
known = {}
counts = {"served": 0, "401": 0, "403": 0}
silences = 0
start = time.monotonic()
every = ways_in()
for place, (name, server, connect, host, fields, proves, how) in enumerate(every):
    if server not in known:
        known[server] = credentials(server if server is serve else control_of(server))
    for number, (credential, more, scopes) in enumerate(known[server]):
        # A tailnet identity and a token do not add up, and two kinds of identity need not be tried with every token.
        if proves not in ((), ("admin",), "funnel") and credential not in ("none", "a wrong token", "only control"):
            continue
        # The short form tries every credential at some listeners, and at every one some.
        if number and not chosen.long and (place + number) % 3:
            continue
        for row in rows:
            operation, method, path, wanted = row
            carries = method in ("POST", "PUT", "PATCH") and wanted != "any"
            granted = proves if scopes is None else scopes
            passes = wanted is None or wanted != "unserved" and proves != "funnel" and may(granted, wanted) \
                and (credential != NARROW or lies_within(path))
            # A body that is not let in is announced and never sent.
            def once():
                return how(
                    connect(), method, path, host, {**fields, **more}, body=b"{}" if carries and passes else None,
                    announce=1000 if carries and not passes else None)

            answer = once()
            if answer.status == 401 and granted and late() > silences:
                # Its whois took more than 2 s. What tailscaled's silence does is asked in tailnet.py.
                silences = late()
                answer = once()
            where = f"{operation} by {name} with {credential}"
            if proves == "funnel":
                tally.check(answer.status == 403 or wanted == "unserved", f"{where}: {answer.status}")
            else:
                judge(where, row, answer, granted, scopes is not None, credential == NARROW)
            counts["served" if passes and proves != "funnel" else str(answer.status)] = counts.get(str(answer.status), 0) + 1 \
                if not passes or proves == "funnel" else counts["served"] + 1
took = time.monotonic() - start
asked = sum(counts.values())
print(
    f"route_access: {len(every)} ways in, {len(known[serve])} credentials, {len(rows)} routes and methods: {asked} requests in {took:.0f} s: {counts}; "
    f"{len(tally.failures)} let through or refused wrongly; {silences} asked once more, tailscaled having been late")
if not net:
    print("route_access: not root, or no unshare and ip: without the listeners of the LAN, the tailnet and Serve")
tally.end()
