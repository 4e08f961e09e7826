import Foundation
import TestSupport
import Testing

@testable import ladle

/// TLS, Unix sockets, activation and the tailnet, through the running program.
struct ListenerTests {
    /// A program's output and exit code.
    private func run(_ program: String, _ arguments: [String]) throws -> (output: String, code: Int32) {
        let process = Process()
        process.executableURL = URL(filePath: program)
        process.arguments = arguments
        let output = Pipe()
        process.standardOutput = output
        process.standardError = output
        try process.run()
        let data = output.fileHandleForReading.readDataToEndOfFile()
        process.waitUntilExit()
        return (String(decoding: data, as: UTF8.self), process.terminationStatus)
    }

    private func curl(_ arguments: String...) throws -> String {
        try run("/usr/bin/env", ["curl", "--silent", "--show-error", "--max-time", "30"] + arguments).output
    }

    private func replace(_ folder: ScratchDirectory, with names: [String]) throws -> String {
        for name in ["new.crt", "new.key"] where folder.exists(name) {
            try FileManager.default.removeItem(atPath: folder.file(name))
        }
        let pin = try SelfSignedFiles.write(
            certificate: folder.file("new.crt"),
            key: folder.file("new.key"),
            names: names
        )
        for name in ["crt", "key"] {
            let to = folder.file("tls.\(name)")
            if FileManager.default.fileExists(atPath: to) { try FileManager.default.removeItem(atPath: to) }
            try FileManager.default.moveItem(atPath: folder.file("new.\(name)"), toPath: to)
        }
        return pin
    }

    private func serveTLS(_ folder: ScratchDirectory, _ more: [String] = []) async throws -> LadleProcess {
        try await LadleProcess(["--tls-cert", folder.file("tls.crt"), "--tls-key", folder.file("tls.key")] + more)
    }

    @Test func `TLS listeners speak both protocols, and their certificate names a host`() async throws {
        let folder = try ScratchDirectory()
        let pin = try replace(folder, with: ["localhost", "127.0.0.1", "box.example"])
        #expect(try folder.mode(of: "tls.key") == 0o600)
        let ladle = try await serveTLS(folder)
        #expect(ladle.output.contains(pin))
        let url = "https://127.0.0.1:\(ladle.port)/v1/status"
        let authority = folder.file("tls.crt")
        for (flag, version) in [("--http1.1", "1.1"), ("--http2", "2")] {
            let answer = try curl(
                "--cacert",
                authority,
                flag,
                "-o",
                "/dev/null",
                "-w",
                "%{http_code} %{http_version}",
                url
            )
            #expect(answer == "200 \(version)")
        }
        let named = try curl(
            "--cacert",
            authority,
            "--resolve",
            "box.example:\(ladle.port):127.0.0.1",
            "-o",
            "/dev/null",
            "-w",
            "%{http_code}",
            "https://box.example:\(ladle.port)/v1/status"
        )
        #expect(named == "200")
        // Cleartext on the same port gets no answer.
        #expect(try ladle.request("GET", "/v1/status").status == 0)
    }

    @Test func `a new certificate is taken up without dropping streams, and a bad one is not taken`() async throws {
        let folder = try ScratchDirectory()
        _ = try replace(folder, with: ["127.0.0.1"])
        let old = folder.file("old.crt")
        try FileManager.default.copyItem(atPath: folder.file("tls.crt"), toPath: old)
        let ladle = try await serveTLS(folder)
        let url = "https://127.0.0.1:\(ladle.port)"
        let stream = Process()
        stream.executableURL = URL(filePath: "/usr/bin/env")
        stream.arguments = [
            "curl", "--silent", "--no-buffer", "--cacert", old, "--max-time", "600",
            "\(url)/v1/events?types=shutdown,hello",
        ]
        let events = Pipe()
        stream.standardOutput = events
        try stream.run()
        var text = ""
        while !text.contains("event: hello"), case let more = events.fileHandleForReading.availableData, !more.isEmpty {
            text += String(decoding: more, as: UTF8.self)
        }
        #expect(text.contains("event: hello"))

        let good = try String(contentsOfFile: folder.file("tls.crt"), encoding: .utf8)
        try Data("not a certificate".utf8).write(to: URL(filePath: folder.file("tls.crt")))
        ladle.signal(SIGHUP)
        #expect(await ladle.says("warning tls.kept error="))
        #expect(try curl("--cacert", old, "\(url)/healthz").contains("ok"))
        try Data(good.utf8).write(to: URL(filePath: folder.file("tls.crt")))

        let pin = try replace(folder, with: ["127.0.0.1"])
        ladle.signal(SIGHUP)
        #expect(await ladle.says("notice tls.renewed sha256=\(pin)"))
        #expect(try curl("--cacert", folder.file("tls.crt"), "\(url)/healthz").contains("ok"))
        #expect(try !curl("--cacert", old, "\(url)/healthz").contains("ok"))

        ladle.signal(SIGTERM)
        while case let more = events.fileHandleForReading.availableData, !more.isEmpty {
            text += String(decoding: more, as: UTF8.self)
        }
        #expect(text.contains("event: shutdown"))
        stream.waitUntilExit()
    }

    @Test func `client certificates are asked for by fingerprint`() async throws {
        let folder = try ScratchDirectory()
        _ = try replace(folder, with: ["127.0.0.1"])
        let pin = try SelfSignedFiles.write(
            certificate: folder.file("client.crt"),
            key: folder.file("client.key"),
            names: ["client"]
        )
        let ladle = try await serveTLS(folder, ["--tls-client-allow", pin])
        let url = "https://127.0.0.1:\(ladle.port)/healthz"
        #expect(try !curl("--cacert", folder.file("tls.crt"), url).contains("\"ok\""))
        let shown = try curl(
            "--cacert",
            folder.file("tls.crt"),
            "--cert",
            folder.file("client.crt"),
            "--key",
            folder.file("client.key"),
            url
        )
        #expect(shown.contains("\"ok\""), "\(shown)")
    }

    @Test(arguments: [
        (["--listen", "0.0.0.0:0"], "--insecure-lan", Int32(78)),
        (["--listen", "unix:relative"], "starts with /", 78),
        (["--listen", "fd:"], "LISTEN_FDS", 78),
        (["--listen", "nonsense"], "address and a port", 78),
        (["--tls-cert", "/nowhere"], "belong together", 78),
        (["--tls-cert", "/nowhere", "--tls-key", "/nowhere"], "/nowhere", 78),
        (["--access-tailnet-allow", "alice"], "LOGIN=SCOPES", 78),
        (["--access-origins", "*"], "access.origins", 78),
    ])
    func `an unusable listener is refused with the reason`(
        arguments: [String],
        reason: String,
        code: Int32
    ) throws {
        let state = try ScratchDirectory()
        let (output, status) = try run(LadleProcess.program, ["serve", "--state", state.path] + arguments)
        #expect(output.contains(reason), "\(output)")
        #expect(status == code)
    }

    @Test func `a key that others can read is refused`() throws {
        let folder = try ScratchDirectory()
        _ = try replace(folder, with: ["127.0.0.1"])
        try FileManager.default.setAttributes([.posixPermissions: 0o644], ofItemAtPath: folder.file("tls.key"))
        let (output, status) = try run(
            LadleProcess.program,
            [
                "serve", "--state", folder.file("state"), "--tls-cert", folder.file("tls.crt"), "--tls-key",
                folder.file("tls.key"),
            ]
        )
        #expect(status == 78)
        #expect(output.contains("chmod 600"))
    }

    @Test func `a Unix socket is private, taken over when left behind, and gone at the end`() async throws {
        let folder = try ScratchDirectory()
        let path = "\(folder.path)/api"
        let state = try ScratchDirectory()
        for ending in [SIGKILL, SIGTERM] {
            let ladle = try await LadleProcess(listen: "127.0.0.1:0,unix:\(path)", state: state)
            let answer = try ladle.request("GET", "/v1/status", on: BlockingSocket.connect(unixPath: path))
            #expect(answer.status == 200)
            let mode = try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int
            #expect(mode == 0o600)
            let other = try ScratchDirectory()
            let (output, code) = try run(
                LadleProcess.program,
                ["serve", "--state", other.path, "--listen", "unix:\(path)"]
            )
            #expect(output.contains("in use"))
            #expect(code == 69)
            ladle.signal(ending)
            _ = ladle.waitForExit()
            #expect(FileManager.default.fileExists(atPath: path) == (ending == SIGKILL))
        }
    }

    @Test func `a file that is no socket is never removed`() throws {
        let folder = try ScratchDirectory()
        try folder.write([1], to: "precious")
        let (output, code) = try run(
            LadleProcess.program,
            ["serve", "--state", folder.file("state"), "--listen", "unix:\(folder.file("precious"))"]
        )
        #expect(output.contains("not a socket"))
        #expect(code == 69)
        #expect(folder.exists("precious"))
    }

    @Test func `a file in the control socket's place that is no socket is named`() throws {
        let folder = try ScratchDirectory()
        try FileManager.default.createDirectory(atPath: folder.file("ladle.sock"), withIntermediateDirectories: false)
        let (output, _) = try run(
            LadleProcess.program,
            ["serve", "--state", folder.path, "--listen", "127.0.0.1:0"]
        )
        #expect(output.contains("\(folder.file("ladle.sock")) is not a socket"))
    }

    @Test func `sockets of the service manager are for the process they are meant for`() {
        let all = ["LISTEN_PID": "42", "LISTEN_FDS": "2", "LISTEN_FDNAMES": "web:serve"]
        #expect(InheritedSocket.all(all, pid: 42).map(\.number) == [3, 4])
        #expect(InheritedSocket.all(all, pid: 42).map(\.name) == ["web", "serve"])
        #expect(InheritedSocket.all(all, pid: 43).isEmpty)
        for count in ["0", "-1", "x", "65", "99999999999999999999"] {
            #expect(InheritedSocket.all(["LISTEN_PID": "42", "LISTEN_FDS": count], pid: 42).isEmpty)
        }
    }

    private static func whois(_ status: String, _ body: String) -> String {
        "HTTP/1.1 \(status)\r\nContent-Length: \(body.utf8.count)\r\n\r\n\(body)"
    }

    private static let alice = """
        {"Node":{"StableID":"n1","ComputedName":"phone"},"UserProfile":{"LoginName":"alice@example.com"}}
        """

    /// tailscaled runs as our own user here and connects on behalf of its peers: a peer it does not name may be anyone.
    @Test(arguments: [
        (whois("200 OK", alice), 200, 403),
        (whois("404 Not Found", "no such peer"), 401, 401),
        (whois("500 Oh No", ""), 401, 401),
        (whois("200 OK", "{}"), 401, 401),
        ("garbage\r\n\r\n", 401, 401),
        ("", 401, 401),
    ])
    func `tailnet peers get what tailscaled's answer allows, and nothing without one`(
        answer: String,
        reading: Int,
        sending: Int
    ) async throws {
        let folder = try ScratchDirectory()
        let daemon = try FakeTailscaled(path: "\(folder.path)/ts", responses: [answer])
        let ladle = try await LadleProcess([
            "--access-tailnet-socket", daemon.path, "--access-tailnet-allow", "alice@example.com=read",
        ])
        #expect(try ladle.request("GET", "/v1/status").status == reading)
        let json = ["Content-Type: application/json"]
        #expect(try ladle.request("POST", "/v1/messages", json, body: "{}").status == sending)
        #expect(daemon.received.contains { $0.hasPrefix("GET /localapi/v0/whois?addr=127.0.0.1%3A") })
    }

    @Test func `serve's headers count on its own socket only, and funnel never`() async throws {
        let folder = try ScratchDirectory()
        let daemon = try FakeTailscaled(path: "\(folder.path)/ts", responses: [Self.whois("200 OK", Self.alice)])
        let ladle = try await LadleProcess([
            "--access-tailnet-socket", daemon.path, "--access-tailnet-allow", "alice@example.com=read",
            "--access-tailnet-serve", "\(folder.path)/serve",
        ])
        let alice = ["Tailscale-User-Login: alice@example.com", "X-Forwarded-For: 100.64.0.7"]
        func ask(_ fields: [String], serve: Bool = true) throws -> Int {
            let socket = try serve ? BlockingSocket.connect(unixPath: "\(folder.path)/serve") : ladle.connect()
            return try ladle.request("GET", "/v1/status", fields, on: socket).status
        }
        #expect(try ask(alice) == 200)
        #expect(try ask(alice, serve: false) == 401)
        #expect(try ask([]) == 401)
        #expect(try ask(["Tailscale-User-Login: mallory@example.com", "X-Forwarded-For: 100.64.0.7"]) == 401)
        #expect(try ask(alice + ["X-Forwarded-For: 100.64.0.8"]) == 401)
        #expect(try ask(alice + ["Tailscale-Funnel-Request: ?1"]) == 403)
    }

    @Test func `a stop tells every stream and ends in time`() async throws {
        let ladle = try await LadleProcess()
        var streams: [BlockingSocket] = []
        for _ in 0..<100 {
            let socket = try ladle.connect()
            try socket.send(ladle.requestBytes("GET", "/v1/events"))
            streams.append(socket)
        }
        for socket in streams { #expect(try !socket.receive().isEmpty) }
        ladle.signal(SIGTERM)
        var told = 0
        for socket in streams {
            var text = ""
            while let more = try? socket.receive(), !more.isEmpty { text += String(decoding: more, as: UTF8.self) }
            if text.contains("event: shutdown") { told += 1 }
            socket.close()
        }
        #expect(told == 100)
        let (code, seconds) = ladle.waitForExit()
        #expect(code == 0)
        #expect(seconds < 5)
    }

    @Test func `a stop answers those who wait for events, and does not wait for them`() async throws {
        let ladle = try await LadleProcess(["--limits-drain", "60s"])
        let cursor = try #require(try ladle.request("GET", "/v1/events?poll=0&types=reset")["cursor"])
        var polls: [BlockingSocket] = []
        for query in ["", "&since=\(cursor)", "&run=none"] {
            let socket = try ladle.connect()
            try socket.send(ladle.requestBytes("GET", "/v1/events?poll=300&types=reset\(query)"))
            polls.append(socket)
        }
        // Connections are served one after the other, so they wait by now.
        #expect(try ladle.request("GET", "/readyz").status == 200)
        ladle.signal(SIGTERM)
        for socket in polls {
            var bytes: [UInt8] = []
            while case let more = try socket.receive(), !more.isEmpty { bytes += more }
            let answer = Answer(bytes)
            #expect(answer.status == 200)
            #expect(answer.body.hasPrefix(#"{"events":[],"cursor":""#), "\(answer)")
            socket.close()
        }
        let (code, seconds) = ladle.waitForExit()
        #expect(code == 0)
        #expect(seconds < 5)
    }

    @Test func `a second signal ends at once`() async throws {
        let stuck = try await LadleProcess()
        let socket = try stuck.connect()
        try socket.send(
            Array("POST /v1/messages HTTP/1.1\r\nHost: 127.0.0.1:\(stuck.port)\r\nContent-Length: 5\r\n\r\nx".utf8)
        )
        // Another request has been answered, so this one has been read.
        #expect(try stuck.request("GET", "/healthz").status == 200)
        stuck.signal(SIGTERM)
        #expect(stuck.hasStoppedListening())
        stuck.signal(SIGTERM)
        #expect(stuck.waitForExit().code == 128 + SIGTERM)
        socket.close()
    }
}

extension LadleProcess {
    /// Whether the program prints this within some seconds.
    func says(_ text: String) async -> Bool {
        let deadline = ContinuousClock.now.advanced(by: .seconds(10))
        while !output.contains(text) {
            guard ContinuousClock.now < deadline else { return false }
            await Task.yield()
        }
        return true
    }

    /// Keeps its thread from other tests meanwhile, because the program's time limit is running.
    func hasStoppedListening() -> Bool {
        let deadline = ContinuousClock.now.advanced(by: .seconds(4))
        while (try? connect()) != nil {
            guard ContinuousClock.now < deadline else { return false }
        }
        return true
    }
}
