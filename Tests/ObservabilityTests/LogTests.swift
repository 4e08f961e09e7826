import Basics
import Dispatch
import JSONBytes
import Synchronization
import Testing

@testable import Observability

struct LogTests {
    static let time = Timestamp(milliseconds: 1_790_000_000_123)

    static func line(_ style: LogStyle, _ level: LogLevel, _ fields: LogFields) -> String {
        var bytes: [UInt8] = []
        style.append(level, "link.online", fields, at: time, to: &bytes)
        return String(decoding: bytes, as: UTF8.self)
    }

    static func line(_ style: LogStyle, _ fields: LogFields) -> String { line(style, .info, fields) }

    @Test func `a readable line has time, level, event and fields`() {
        let line = Self.line(
            LogStyle(),
            .warning,
            [
                "url": "ws://127.0.0.1:18789", "protocol": 4, "ok": true, "took": 0.5, "none": .absent,
                "text": "two words", "empty": "",
            ]
        )
        #expect(
            line
                == "2026-09-21T14:13:20.123Z warning link.online url=ws://127.0.0.1:18789 protocol=4 ok=true took=0.5 text=\"two words\" empty=\"\"\n"
        )
    }

    @Test func `under journald a priority stands in front and the time is left to the journal`() {
        #expect(Self.line(LogStyle(journal: true), .error, ["n": 1]) == "<3>link.online n=1\n")
        #expect(LogLevel.allCases.map(\.rawValue) == [3, 4, 5, 6, 7])
    }

    @Test func `a JSON line is one object`() throws {
        let line = Self.line(LogStyle(json: true), .notice, ["a": "x\ny", "n": -1, "gone": .absent])
        #expect(line.filter { $0 == "\n" }.count == 1)
        let root = try JSONDocument(parsing: Array(line.utf8.dropLast())).root
        #expect(root["at"]?.string == "2026-09-21T14:13:20.123Z")
        #expect(root["level"]?.string == "notice")
        #expect(root["a"]?.string == "x\ny")
        #expect(root["n"]?.int == -1)
        #expect(root["gone"] == nil)
    }

    @Test(arguments: [
        "a\nb", "a\r\nb", "\u{1B}[31mred", "a\u{2028}b", "a\u{202E}b", "a\u{0}b", "a\u{85}b", "q\"q", "back\\slash",
        "k=v",
    ])
    func `no value can end its line, drive a terminal or pass for another field`(value: String) {
        for style in [LogStyle(), LogStyle(journal: true), LogStyle(json: true)] {
            let line = Self.line(style, ["v": .string(value)])
            #expect(line.last == "\n")
            let scalars = line.unicodeScalars.dropLast()
            #expect(!scalars.contains { $0.value < 0x20 || $0 == "\u{2028}" || $0 == "\u{85}" })
            if !style.json { #expect(!scalars.contains("\u{202E}")) }
        }
    }

    @Test func `long values are cut between characters`() {
        let line = Self.line(LogStyle(journal: true), ["v": .string(String(repeating: "é", count: 2000))])
        #expect(line.utf8.count < 1100)
        #expect(line.contains("é…"))
        #expect(!line.contains("\u{FFFD}"))
        let odd = Self.line(LogStyle(journal: true), ["v": .string("x" + String(repeating: "é", count: 2000))])
        #expect(!odd.contains("\u{FFFD}"))
    }

    private static let secrets: [(String, String)] = [
        ("ldl_AbCdEf0123", "ldl_…"), ("x ldp_abc y", "x ldp_… y"),
        ("Authorization: Bearer abc.def-1", "Authorization: Bearer …"),
        ("/v1/events?ticket=ldt_xyz&since=1", "/v1/events?ticket=…&since=1"), ("?token=abc%20d&b=1", "?token=…&b=1"),
        ("{\"token\":\"abc\",\"x\":1}", "{\"token\":\"…\",\"x\":1}"), ("BASIC dXNlcjpw", "BASIC …"),
        ("plain text", "plain text"),
        ("ldl_", "ldl_"), ("bearer", "bearer"), ("é ldl_x é", "é ldl_… é"), ("", ""), ("LDL_X", "LDL_…"),
    ]

    @Test(arguments: secrets)
    func `secrets are masked wherever they stand`(text: String, scrubbed: String) {
        #expect(Redaction.scrub(text) == scrubbed)
        #expect(Self.line(LogStyle(), ["v": .string(text)]) == Self.line(LogStyle(), ["v": .string(scrubbed)]))
    }

    @Test func `levels are a threshold, and fields of silent lines are not built`() {
        let written = Mutex<[UInt8]>([])
        let sink = LogSink { bytes in written.withLock { $0 += bytes } }
        let log = Log(sink: sink, level: .info, now: { Self.time })
        func costly() -> LogValue {
            Issue.record("built")
            return 1
        }
        log.debug("a", ["n": costly()])
        log.info("b")
        log.error("c")
        sink.flush(milliseconds: 60_000)
        #expect(
            written.withLock { String(decoding: $0, as: UTF8.self) }
                == "2026-09-21T14:13:20.123Z info b\n2026-09-21T14:13:20.123Z error c\n"
        )
    }

    @Test(arguments: LogLevel.allCases)
    func `a notice is written from its own level on`(level: LogLevel) {
        let written = Mutex<[UInt8]>([])
        let sink = LogSink { bytes in written.withLock { $0 += bytes } }
        Log(sink: sink, level: level, now: { Self.time }).notice("a")
        sink.flush(milliseconds: 60_000)
        let isNoticed = [.notice, .info, .debug].contains(level)
        let expected = isNoticed ? "2026-09-21T14:13:20.123Z notice a\n" : ""
        #expect(written.withLock { String(decoding: $0, as: UTF8.self) } == expected)
    }

    @Test func `lines of one thread keep their order`() {
        let written = Mutex<[UInt8]>([])
        let sink = LogSink { bytes in written.withLock { $0 += bytes } }
        for index in 0..<5000 { sink.append(Array("\(index)\n".utf8)) }
        sink.flush(milliseconds: 60_000)
        let expected: [UInt8] = (0..<5000).flatMap { Array("\($0)\n".utf8) }
        #expect(written.withLock { $0 == expected })
    }

    @Test func `a blocked reader costs lines, not time, and the gap is named`() {
        let gate = Gate()
        let written = Mutex<[UInt8]>([])
        let sink = LogSink(capacity: 1000) { bytes in
            gate.wait()
            written.withLock { $0 += bytes }
        }
        let line = [UInt8](repeating: 0x78, count: 99) + [0x0A]
        sink.append(line)
        gate.waitUntilBlocked()
        for _ in 0..<50 { sink.append(line) }
        #expect(sink.dropped == 40)
        gate.open()
        sink.flush(milliseconds: 60_000)
        let text = written.withLock { String(decoding: $0, as: UTF8.self) }
        #expect(text.hasSuffix("log.dropped count=40\n"))
        #expect(text.split(separator: "\n").count == 12)
    }
}

/// Holds the writer until the test lets it go.
private final class Gate: Sendable {
    private let opened = DispatchSemaphore(value: 0)
    private let blocked = DispatchSemaphore(value: 0)

    func wait() {
        blocked.signal()
        opened.wait()
        // Later writers pass.
        opened.signal()
    }

    func waitUntilBlocked() { blocked.wait() }

    func open() { opened.signal() }
}
