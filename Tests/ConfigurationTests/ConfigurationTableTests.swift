import Foundation
import Testing

@testable import Configuration

struct ConfigurationTableTests {
    @Test func `names, flags and environment names are unique, sorted and derived from each other`() {
        let keys = ConfigurationTable.keys
        #expect(keys.map(\.name) == keys.map(\.name).sorted())
        let flags: [String] = keys.flatMap { [$0.flag, $0.shortFlag].compactMap(\.self) }
        let environment: [String] = keys.flatMap { [$0.environment, $0.shortEnvironment].compactMap(\.self) }
        #expect(Set(keys.map(\.name)).count == keys.count)
        #expect(Set(flags).count == flags.count)
        #expect(Set(environment).count == environment.count)
        #expect(ConfigurationKey.gatewayTokenFile.flag == "--gateway-token-file")
        #expect(ConfigurationKey.gatewayTokenFile.shortFlag == "--token-file")
        #expect(ConfigurationKey.gatewayScopes.environment == "LADLE_GATEWAY_SCOPES")
        #expect(ConfigurationKey.outboxMaxPerSession.environment == "LADLE_OUTBOX_MAX_PER_SESSION")
        #expect(
            ["--gateway", "--token-file", "--listen", "--state", "--demo"].allSatisfy {
                ConfigurationTable.key(flag: $0) != nil
            }
        )
    }

    private static let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent()

    /// The names of the static properties that declare keys.
    private static func declared() throws -> [String] {
        let file = root.appending(path: "Sources/Configuration/Keys/ConfigurationKey+List.swift")
        return try String(contentsOf: file, encoding: .utf8).matches(of: #/static let (\w+) = ConfigurationKey\(/#)
            .map { String($0.1) }
    }

    @Test func `every declared key is in the table`() throws {
        #expect(try Self.declared().count == ConfigurationTable.keys.count)
    }

    @Test func `every key is read by some part of the program`() throws {
        let sources = Self.root.appending(path: "Sources")
        var text = ""
        for case let file as URL in try #require(
            FileManager.default.enumerator(at: sources, includingPropertiesForKeys: nil)
        )
        where file.pathExtension == "swift" && file.lastPathComponent != "ConfigurationKey+List.swift" {
            text += try String(contentsOf: file, encoding: .utf8)
        }
        let read = Set(text.matches(of: #/\(\.(\w+)\)/#).map { String($0.1) })
        let unread = try Self.declared().filter { !read.contains($0) }
        #expect(unread.isEmpty)
    }

    @Test func `every default is a valid value of its key`() throws {
        for key in ConfigurationTable.keys {
            guard let fallback = key.fallback else { continue }
            if key.kind.isList, fallback.isEmpty { continue }
            #expect(throws: Never.self, "\(key.name)") { try ConfigurationReader.value(fallback, of: key) }
            let value = try ConfigurationReader.value(fallback, of: key)
            #expect(try ConfigurationReader.value(Settings().display(key), of: key) == value, "\(key.name)")
        }
    }

    @Test func `the reference has a row for every key and nothing breaks its cells`() {
        let rows = ConfigurationTable.markdownReference().split(separator: "\n")
        #expect(rows.count == ConfigurationTable.keys.count + 2)
        for row in rows { #expect(row.filter { $0 == "|" }.count == 7, "\(row)") }
    }

    @Test(
        arguments: [
            ("15s", 15_000), ("500ms", 500), ("48h", 172_800_000), ("7d", 604_800_000), ("10 m", 600_000), ("0", 0),
            ("5", nil),
            ("-5s", nil), ("1.5s", nil), ("s", nil), ("5 weeks", nil), ("9223372036854775807d", nil), ("", nil),
        ] as [(String, Int64?)]
    )
    func `durations have a unit`(text: String, milliseconds: Int64?) {
        #expect(ConfigurationUnits.milliseconds(text) == milliseconds)
        if let milliseconds {
            #expect(ConfigurationUnits.milliseconds(ConfigurationUnits.duration(milliseconds)) == milliseconds)
        }
    }

    @Test(
        arguments: [
            ("512", 512), ("64KiB", 65_536), ("1 MiB", 1 << 20), ("5MB", 5_000_000), ("1kB", 1000), ("x", nil),
            ("5 mb", nil), ("", nil),
        ] as [(String, Int64?)]
    )
    func `sizes may have one`(text: String, bytes: Int64?) {
        #expect(ConfigurationUnits.bytes(text) == bytes)
        if let bytes { #expect(ConfigurationUnits.bytes(ConfigurationUnits.size(bytes)) == bytes) }
    }
}
