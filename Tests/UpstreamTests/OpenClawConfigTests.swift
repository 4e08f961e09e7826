import Gateway
import JSONBytes
import Testing

@testable import Upstream

struct OpenClawConfigTests {
    /// Discovery over made-up files; plain JSON stands in for JSON5.
    static func discover(_ files: [String: String], _ environment: [String: String] = [:]) throws -> OpenClawConfig? {
        try OpenClawConfig.discover(
            environment: ["HOME": "/home/pat"].merging(environment) { $1 },
            readFile: { files[$0].map { Array($0.utf8) } },
            exists: { path in files.keys.contains { $0 == path || $0.hasPrefix(path + "/") } },
            parseJSON5: { try JSONDocument(parsing: $0) }
        )
    }

    static let main = "/home/pat/.openclaw/openclaw.json"

    @Test func `a plain installation gives loopback and its token`() throws {
        let config = try #require(
            try Self.discover([Self.main: #"{"gateway":{"auth":{"mode":"token","token":"t-1"}}}"#])
        )
        #expect(config.urls() == ["ws://127.0.0.1:18789"])
        #expect(config.token == .literal("t-1") && config.password == .absent)
        #expect(config.authMode == "token" && config.configPath == Self.main)
    }

    @Test func `nothing on this host is nothing`() throws {
        #expect(try Self.discover([:]) == nil)
        #expect(try Self.discover([:], ["OPENCLAW_GATEWAY_TOKEN": "x"])?.token == .literal("x"))
    }

    @Test func `a secret in a file that others may read is told, wherever it came from`() {
        func file(_ path: String, _ text: String, isExposed: Bool = false) -> OpenClawFile {
            OpenClawFile(path: path, bytes: Array(text.utf8), mode: isExposed ? 0o644 : 0o600, isExposed: isExposed)
        }
        func shown(_ files: [OpenClawFile], _ environment: [String: String] = [:]) -> String? {
            OpenClawFile.showing(["s3cret"], among: files, environment: environment)?.path
        }
        let open = file("a", #"{"token":"s3cret"}"#, isExposed: true)
        let plain = file("b", #"{"token":"${X}"}"#, isExposed: true)
        #expect(shown([open]) == "a" && shown([plain, open]) == "a")
        // The variable wins over the file, but the file still exposes the secret.
        #expect(shown([open], ["X": "s3cret"]) == "a")
        #expect(shown([file("c", "X=s3cret"), plain]) == nil)
        #expect(shown([plain], ["X": "s3cret"]) == nil)
        #expect(shown([file("c", "s3cret")]) == nil)
        // The secret is written with escapes.
        #expect(shown([file("d", #"{"token":"\u00733cret"}"#, isExposed: true)]) == "d")
        #expect(OpenClawFile.showing([""], among: [open], environment: [:]) == nil)
        #expect(OpenClawFile.showing([], among: [open], environment: [:]) == nil)
    }

    static let places: [([String: String], String)] = [
        ([:], main),
        (["OPENCLAW_HOME": "/srv/oc"], "/srv/oc/.openclaw/openclaw.json"),
        (["OPENCLAW_STATE_DIR": "~/state/"], "/home/pat/state/openclaw.json"),
        (["OPENCLAW_CONFIG_PATH": "/etc/oc.json"], "/etc/oc.json"),
    ]

    @Test(arguments: places) func `the environment moves files`(_ environment: [String: String], _ path: String) throws
    {
        let config = try Self.discover([path: #"{"gateway":{"port":7}}"#], environment)
        #expect(config?.urls() == ["ws://127.0.0.1:7"])
    }

    @Test func `former names count only when nothing newer is there`() throws {
        let old = "/home/pat/.clawdbot/clawdbot.json"
        #expect(try Self.discover([old: "{}"])?.configPath == old)
        #expect(try Self.discover([old: "{}", Self.main: "{}"])?.configPath == Self.main)
    }

    @Test func `the environment wins over the file, .env helps out`() throws {
        let file = #"{"gateway":{"port":1,"auth":{"token":"${OC_TOKEN}","password":"p"}}}"#
        let environment = ["OPENCLAW_GATEWAY_PORT": "99", "OPENCLAW_GATEWAY_PASSWORD": "q"]
        let dotenv = "# c\nexport OC_TOKEN=\"from env file\"\nOTHER=1\n"
        let config = try #require(
            try Self.discover([Self.main: file, "/home/pat/.openclaw/.env": dotenv], environment)
        )
        #expect(config.urls() == ["ws://127.0.0.1:99"])
        #expect(config.token == .literal("from env file") && config.password == .literal("q"))
    }

    static let secrets: [(String, OpenClawConfig.Secret)] = [
        (#""literal""#, .literal("literal")),
        (#""a${X}b""#, .literal("a1b")),
        (#""$${X}""#, .literal("${X}")),
        (#""${lower}""#, .literal("${lower}")),
        (#""${MISSING}""#, .elsewhere("${MISSING}")),
        (#""""#, .absent),
        ("null", .absent),
        (#"{"source":"env","provider":"default","id":"X"}"#, .literal("1")),
        (#"{"source":"env","provider":"default","id":"MISSING"}"#, .elsewhere("env:MISSING")),
        (#"{"source":"exec","provider":"op","id":"gateway/token"}"#, .elsewhere("exec:gateway/token")),
    ]

    @Test(arguments: secrets) func `token forms`(_ text: String, _ expected: OpenClawConfig.Secret) throws {
        let config = try Self.discover([Self.main: #"{"gateway":{"auth":{"token":\#(text)}}}"#], ["X": "1"])
        #expect(config?.token == expected)
    }

    @Test func `includes merge, relative to their file, and what stands beside them wins`() throws {
        let config = try Self.discover([
            Self.main: #"{"gateway":{"$include":["./parts/a.json","parts/b.json"],"port":3}}"#,
            "/home/pat/.openclaw/parts/a.json": #"{"port":1,"auth":{"token":"a","mode":"token"}}"#,
            "/home/pat/.openclaw/parts/b.json": #"{"$include":"../more.json"}"#,
            "/home/pat/.openclaw/more.json": #"{"auth":{"token":"b"}}"#,
        ])
        #expect(config?.urls() == ["ws://127.0.0.1:3"])
        #expect(config?.token == .literal("b") && config?.authMode == "token")
    }

    @Test func `includes in a circle, missing ones and broken files are named`() throws {
        let circle = [
            "/home/pat/.openclaw/a.json": #"{"$include":"./x/../a.json"}"#, Self.main: #"{"$include":"a.json"}"#,
        ]
        #expect(throws: OpenClawConfigReader.Problem.includesTooDeep(path: "/home/pat/.openclaw/a.json")) {
            try Self.discover(circle)
        }
        #expect(throws: OpenClawConfigReader.Problem.missingInclude(path: "/home/pat/.openclaw/b.json")) {
            try Self.discover([Self.main: #"{"$include":"b.json"}"#])
        }
        #expect(throws: OpenClawConfigReader.Problem.self) { try Self.discover([Self.main: "{oops"]) }
    }

    @Test func `a remote profile, TLS and binds`() throws {
        let remote = try #require(
            try Self.discover([
                Self.main:
                    #"{"gateway":{"mode":"remote","remote":{"url":"wss://gw.example.org","token":"r","tlsFingerprint":"sha256:aa"}}}"#
            ])
        )
        #expect(remote.urls() == ["wss://gw.example.org"] && remote.token == .literal("r") && remote.pin == "sha256:aa")
        let tls = try Self.discover([Self.main: #"{"gateway":{"bind":"tailnet","tls":{"enabled":true}}}"#])
        #expect(tls?.urls(tailnetAddress: "100.64.1.1") == ["wss://127.0.0.1:18789", "wss://100.64.1.1:18789"])
        #expect(tls?.pin == nil)
        let custom = try Self.discover([
            Self.main: #"{"gateway":{"bind":"custom","customBindHost":"fd00::5","port":5}}"#
        ])
        #expect(custom?.urls() == ["ws://127.0.0.1:5", "ws://[fd00::5]:5"])
    }
}
