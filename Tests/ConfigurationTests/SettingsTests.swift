import JSONBytes
import Testing

@testable import Configuration

struct SettingsTests {
    private func sources(
        file: String? = nil,
        environment: [String: String] = [:],
        flags: [(String, String)] = [],
        discovered: [(ConfigurationKey, String)] = []
    ) -> SettingsSources {
        var sources = SettingsSources()
        sources.file = file.map { SettingsSources.File(path: "c.json5", bytes: Array($0.utf8)) }
        sources.environment = environment
        sources.flags = flags.compactMap { spelling, text in
            ConfigurationTable.key(flag: spelling).map { SettingsSources.Flag(key: $0, spelling: spelling, text: text) }
        }
        sources.discovered = discovered.map { SettingsSources.Found(key: $0, text: $1, source: "openclaw.json") }
        return sources
    }

    @Test func `flags win over environment, file, discovery and default, and each value knows its origin`() throws {
        var layers = sources(discovered: [(.gatewayURL, "ws://found:1")])
        func origin() -> String? { layers.resolved().settings[.gatewayURL]?.origin.description }
        #expect(sources().resolved().settings[.gatewayURL] == nil)
        #expect(origin() == "found in openclaw.json")
        layers.file = SettingsSources.File(
            path: "c.json5",
            bytes: Array("{\n  gateway: { url: 'ws://file:1' },\n}".utf8)
        )
        #expect(origin() == "c.json5:2:19")
        layers.environment = ["LADLE_GATEWAY_URL": "ws://env:1", "HOME": "/x"]
        #expect(origin() == "environment LADLE_GATEWAY_URL")
        layers.flags = sources(flags: [("--gateway", "ws://flag:1")]).flags
        #expect(origin() == "flag --gateway")
        let (settings, problems) = layers.resolved()
        #expect(settings.text(.gatewayURL) == "ws://flag:1")
        #expect(problems == [])
        #expect(settings[.outboxTTL]?.origin == .fallback)
    }

    @Test(arguments: ["", "\n", "  \t\r\n", "// nothing yet\n", "/* { demo: true } */", "\u{feff}"])
    func `an empty file, or one of comments alone, sets nothing`(file: String) {
        let (settings, problems) = sources(file: file).resolved()
        #expect(problems.isEmpty)
        #expect(settings[.demo]?.origin == .fallback)
    }

    @Test(arguments: ["/* ", "/", ",", "{"])
    func `a file that ends too early is none`(file: String) {
        #expect(!sources(file: file).resolved().problems.isEmpty)
    }

    @Test func `a key under two spellings in the file is an error that names both places`() {
        for file in [
            "{ 'log.level': 'info',\n log: { level: 'debug' } }",
            "{ gateway: 'ws://a:1',\n 'gateway.url': 'ws://b:1' }",
        ] {
            let problems = sources(file: file).resolved().problems
            #expect(problems.count == 1)
            #expect(problems.first?.origin.description.hasPrefix("c.json5:2:") == true)
            #expect(problems.first?.message.hasSuffix("stands in line 1 too") == true)
        }
    }

    @Test func `every kind is read in every spelling`() {
        let file = """
            { gateway: 'wss://h:1', demo: true, listen: ['127.0.0.1:1', "unix:/s"], outbox: { maxEntries: 5, jitter: .05,
              ttl: '2h', offline: 'hold' }, access: { tailnet: { allow: 'a@b=read,send tag:x=read', capability: true } },
              limits: { bodyBytes: 2048 } }
            """
        let (settings, problems) = sources(file: file).resolved()
        #expect(problems == [])
        #expect(settings.text(.gatewayURL) == "wss://h:1")
        #expect(settings.bool(.demo))
        #expect(settings.list(.listen) == ["127.0.0.1:1", "unix:/s"])
        #expect(settings.int(.outboxMaxEntries) == 5)
        #expect(settings.fraction(.outboxJitter) == 0.05)
        #expect(settings.int(.outboxTTL) == 7_200_000)
        #expect(settings.text(.outboxOffline) == "hold")
        #expect(settings.list(.accessTailnetAllow) == ["a@b=read,send", "tag:x=read"])
        #expect(settings.bool(.accessTailnetCapability))
        #expect(settings.int(.limitsBodyBytes) == 2048)

        let environment = sources(environment: ["LADLE_LISTEN": "a:1, b:2", "LADLE_DEMO": "1", "LADLE_LOG_LEVEL": ""])
            .resolved()
        #expect(environment.problems == [])
        #expect(environment.settings.list(.listen) == ["a:1", "b:2"])
        #expect(environment.settings.bool(.demo))

        let flags = sources(flags: [
            ("--listen", "a:1"), ("--listen", "b:2,c:3"), ("--log-level", "debug"), ("--log-level", "error"),
        ])
        #expect(flags.resolved().settings.list(.listen) == ["a:1", "b:2", "c:3"])
        #expect(flags.resolved().settings.text(.logLevel) == "error")
    }

    static let mistakes: [(String, [String: String], String)] = [
        ("{gatway: {}}", [:], "c.json5:1:10: unknown key gatway; did you mean gateway?"),
        ("{gateway: {urll: 'ws://x:1'}}", [:], "c.json5:1:18: unknown key gateway.urll; did you mean gateway.url?"),
        ("{gateway: {token: 'x'}}", [:], "c.json5:1:19: unknown key gateway.token; a secret does not belong there"),
        ("{gateway: {url: 'ws://u:p@x'}}", [:], "c.json5:1:17: gateway.url must not carry a user, password or query"),
        ("{gateway: {url: 'host:1'}}", [:], "c.json5:1:17: gateway.url must be a URL"),
        (
            "{log: {level: 'loud'}}", [:],
            "c.json5:1:15: log.level must be error or warning or notice or info or debug, not \"loud\""
        ),
        ("{outbox: {ttl: 5}}", [:], "c.json5:1:16: outbox.ttl must be a duration, 1s to 30d"),
        (
            "{outbox: {maxEntries: 0}}", [:],
            "c.json5:1:23: outbox.maxEntries must be a whole number, 1 to 1000000, not \"0\""
        ),
        ("{listen: [1]}", [:], "c.json5:1:10: listen must be a list of texts"),
        ("{insecureLan: 'yes'}", [:], "c.json5:1:15: insecureLan must be true or false"),
        ("{state: 'a\\u0007'}", [:], "c.json5:1:9: state holds a control character"),
        ("{a: 1 b: 2}", [:], "c.json5:1:7: a comma is missing"),
        ("[]", [:], "c.json5:1:1: the file must hold an object"),
        (
            "{}", ["LADLE_GATEWAY_TOKEN": "x"],
            "environment LADLE_GATEWAY_TOKEN: unknown name; a secret does not belong there"
        ),
        ("{}", ["LADLE_LISTN": "x"], "environment LADLE_LISTN: unknown name; did you mean LADLE_LISTEN?"),
    ]

    @Test(arguments: mistakes)
    func `every mistake is one problem that says where and what instead`(
        file: String,
        environment: [String: String],
        text: String
    ) {
        let problems = sources(file: file, environment: environment).resolved().problems
        #expect(problems.count == 1)
        #expect(problems.first?.description.hasPrefix(text) == true, "\(problems)")
    }

    @Test func `foreign variables are ignored`() {
        #expect(
            sources(file: "{demo: null}", environment: ["LADLE_SOCKET": "/s", "LADLE_TEST_KILL": "a", "PATH": "x"])
                .resolved().problems == []
        )
    }

    @Test func `all values are shown, with their origins, and no secret with them`() throws {
        var (settings, _) = sources(environment: ["LADLE_OUTBOX_TTL": "72h"]).resolved()
        settings.set(.gatewayURL, .text("ws://user:pass@h:1/p?token=x"), from: .discovered("a"))
        var writer = JSONWriter()
        settings.write(origins: true, to: &writer)
        let shown = try JSONDocument(parsing: writer.bytes).root
        #expect(shown["outbox.ttl"]?["value"]?.string == "3d")
        #expect(shown["outbox.ttl"]?["origin"]?.string == "environment LADLE_OUTBOX_TTL")
        #expect(shown["gateway.url"]?["value"]?.string == "ws://***@h:1/p?***")
        #expect(shown["listen"]?["value"]?[0]?.string == "127.0.0.1:18780")
        #expect(shown["gateway.pin"] == nil)
    }

    @Test func `files are in the XDG directories or their like`() {
        let linux = SettingsPlaces(environment: ["HOME": "/h/"], platform: .linux)
        #expect(linux.configFile == "/h/.config/ladle/config.json5")
        #expect(linux.stateDirectory(Settings()) == "/h/.local/state/ladle")
        let xdg = SettingsPlaces(
            environment: ["HOME": "/h", "XDG_CONFIG_HOME": "/c", "XDG_STATE_HOME": "rel"],
            platform: .linux
        )
        #expect(xdg.configFile == "/c/ladle/config.json5")
        #expect(xdg.stateDirectory(Settings()) == "/h/.local/state/ladle")
        #expect(
            SettingsPlaces(environment: ["HOME": "/h"], platform: .macOS).configFile
                == "/h/Library/Application Support/Ladle/config.json5"
        )
        #expect(SettingsPlaces(environment: [:]).configFile == nil)
        #expect(SettingsPlaces(environment: ["HOME": "/h", "LADLE_CONFIG": "~/c.json5"]).configFile == "/h/c.json5")
        var settings = Settings()
        settings.set(.state, .text("~/s"), from: .flag("--state"))
        #expect(linux.stateDirectory(settings) == "/h/s")
    }

    @Test func `a configuration file is a regular file within the limit`() throws {
        #expect(throws: TextFile.Fault.missing(path: "/nonexistent/x")) { try TextFile.read("/nonexistent/x") }
        #expect(throws: TextFile.Fault.notAFile(path: "/dev/null")) { try TextFile.read("/dev/null") }
        #expect(throws: TextFile.Fault.tooLarge(path: #filePath, limit: 10)) { try TextFile.read(#filePath, limit: 10) }
        #expect(try TextFile.read(#filePath).count > 100)
    }
}
