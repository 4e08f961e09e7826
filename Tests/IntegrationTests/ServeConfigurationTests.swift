import API
import Access
import Basics
import Configuration
import EventLoops
import Observability
import Outbox
import POSIX
import Service
import TestSupport
import Testing

@testable import ladle

/// Settings reach the parts that act on them. No program is started here; the parts have tests of their own.
struct ServeConfigurationTests {
    private func settings(_ file: String) -> Settings {
        var sources = SettingsSources()
        sources.file = SettingsSources.File(path: "c.json5", bytes: Array(file.utf8))
        let (settings, problems) = sources.resolved()
        #expect(problems == [])
        return settings
    }

    private func configuration(_ file: String) throws -> ServeConfiguration {
        try ServeConfiguration(settings(file), places: SettingsPlaces(environment: ["HOME": "/home/ann"]))
    }

    @Test func `limits, origins and intervals arrive`() throws {
        let configuration = try configuration(
            """
            {
                events: { heartbeat: '5s', streamsPerCaller: 3, streamsPerConnection: 7 },
                limits: { sendsBurst: 2, sendsInterval: '30s', authPerMinute: 1, pairingPerMinute: 1 },
                outbox: { maxPerSession: 4, ttl: '2h' },
                access: { origins: ['http://app.example'], hosts: ['box.example'] },
            }
            """
        )
        #expect(configuration.api(log: .none).heartbeatSeconds == 5)
        #expect(configuration.api(log: .none).streamsPerConnection == 7)
        #expect(configuration.streamSlots.perCaller == 3)
        #expect(configuration.hostNames == ["box.example"])
        #expect(configuration.origins == (try OriginList(["http://app.example"])))
        var limiter = configuration.authenticator([]).limiter
        #expect(limiter.take(.sends, .address(.loopback4), now: 0).headers.policy == #""sends";q=2;w=60"#)
        for kind in [RateLimitKind.auth, .pairing] {
            #expect(limiter.take(kind, .address(.loopback4), now: 0).allowed)
            #expect(!limiter.take(kind, .address(.loopback4), now: 0).allowed)
        }
    }

    @Test(arguments: [("{}", false), ("{debug: {frames: true}}", true)])
    func `frames are kept only where the configuration says so`(file: String, keeps: Bool) throws {
        #expect(try configuration(file).keepsFrames == keeps)
    }

    @Test func `a certificate of the tailnet leaves loopback as it is, files and client certificates do not`() throws {
        let addresses = try ["127.0.0.1", "100.64.0.7", "192.168.1.7", "0.0.0.0"].map {
            try #require(SocketAddress(host: $0, port: 1))
        }
        let encrypted = { (file: String) in addresses.map(try configuration(file).isEncrypted) }
        #expect(try encrypted("{}") == [false, false, false, false])
        #expect(try encrypted("{tls: {tailnet: true}}") == [false, true, true, true])
        let files = "cert: ['c'], key: ['k']"
        #expect(try encrypted("{tls: {\(files)}}") == [true, true, true, true])
        #expect(try encrypted("{tls: {tailnet: true, \(files)}}") == [true, true, true, true])
        let pin = String(repeating: "ab", count: 32)
        #expect(try encrypted("{tls: {tailnet: true, clientAllow: ['\(pin)']}}") == [true, true, true, true])
        #expect(
            try configuration("{tls: {tailnet: true}, listen: ['192.168.1.7:1']}").tls?.own?.path.hasSuffix(
                "ladle/self-signed.pem"
            ) == true
        )
        #expect(try configuration("{tls: {\(files)}}").tls?.tailnet == nil)
        #expect(try configuration("{demo: true, tls: {tailnet: true, \(files)}}").tls?.own == nil)
    }

    @Test func `the audit file has the configured size and generations, or is not there`() async throws {
        let folder = try ScratchDirectory()
        #expect(try configuration("{audit: {enabled: false}}").audit(in: folder.path, log: .none) == nil)
        let small = try configuration("{audit: {maxBytes: '64KiB', keep: 2}}")
        let audit = try #require(small.audit(in: folder.path, log: .none))
        let record = AuditRecord(
            at: Timestamp(milliseconds: 0),
            who: "owner",
            from: "",
            what: String(repeating: "x", count: 1000),
            outcome: .done,
            requestID: "r"
        )
        for _ in 0..<300 { audit.record { record } }
        await audit.finish()
        #expect(try folder.names() == ["audit.log", "audit.log.1", "audit.log.2"])
        for name in try folder.names() { #expect(try folder.bytes(of: name).count <= 64 << 10) }
    }

    @Test(arguments: LogLevel.allCases)
    func `every level can be configured`(level: LogLevel) throws {
        #expect(StartupOutput.level(settings("{log: {level: '\(level.name)'}}")) == level)
    }
}
