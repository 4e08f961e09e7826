import Basics
import Gateway
import JSONBytes
import Labels
import Ledger
import TestSupport
import Testing

@testable import Runs

/// The tracker survives every malformed frame of a gateway.
struct RubbishTests {
    private static let keys = [
        "runId", "seq", "stream", "data", "ts", "sessionKey", "phase", "name", "toolCallId", "args", "result",
        "details", "status",
        "content", "text", "type", "message", "state", "messages", "role", "timestamp", "thinking", "delta", "error",
        "exitCode",
        "durationMs", "itemId", "startedAt", "endedAt", "command", "path", "id", "request", "decision", "inFlightRun",
        "sessionInfo",
        "usage", "cost", "total", "__openclaw", "idempotencyKey", "deltaText", "replace", "arguments", "isError",
    ]
    private static let words = [
        "r1", "r2", "tool", "assistant", "lifecycle", "start", "end", "error", "result", "item", "thinking", "final",
        "delta", "aborted",
        "agent:main:main", "main", "user", "toolResult", "exec", "read", "ls | grep 'x", "$(", "NO_REPLY", "", "🦞",
        "\u{0}\u{7F}", "\\\"",
        "1795000000000", "2026-11-18T11:06:40Z", "call_1", "text", "toolCall", "completed", "running",
        "approval-pending",
    ]

    private static func value(_ random: inout SeededRandom, depth: Int) -> String {
        switch random.next() % (depth > 0 ? 12 : 8) {
        case 0: return "null"
        case 1: return random.next() % 2 == 0 ? "true" : "false"
        case 2: return String(Int64(bitPattern: random.next()))
        case 3: return "-1.5e\(random.next() % 300)"
        case 4: return "1795000000\(random.next() % 1000 + 100)"
        case 5...7: return quoted(words.randomElement(using: &random) ?? "")
        case 8, 9:
            return "[" + (0..<random.next() % 4).map { _ in value(&random, depth: depth - 1) }.joined(separator: ",")
                + "]"
        default: return object(&random, depth: depth - 1)
        }
    }

    private static func object(_ random: inout SeededRandom, depth: Int) -> String {
        var names: Set<String> = []
        for _ in 0..<random.next() % 9 { names.insert(keys.randomElement(using: &random) ?? "") }
        return "{" + names.sorted().map { "\(quoted($0)):\(value(&random, depth: depth))" }.joined(separator: ",") + "}"
    }

    @Test(arguments: [1, 2, 3, 4]) func `random frames and pages never stop the tracker`(seed: UInt64) throws {
        var random = SeededRandom(seed)
        var tracker = RunTracker(labels: seed % 2 == 0 ? .extended : .chowder)
        let session = SessionKey(canonical: "agent:main:main")
        tracker.sent("r1", session: session, text: "hi", now: Timestamp(milliseconds: 1))
        var texts: [String: Int] = [:]
        for round in 0..<2_500 {
            let now = Timestamp(milliseconds: 1_795_000_000_000 + Int64(round) * 50)
            let inner = Self.object(&random, depth: 4)
            let stream = Self.words.randomElement(using: &random) ?? ""
            let payload: JSONValue
            switch round % 3 {
            case 0: payload = json(inner)
            case 1:
                payload = json(
                    "{\"runId\":\"r\(random.next() % 4)\",\"sessionKey\":\"main\",\"seq\":\(Int64(bitPattern: random.next()) % 50),\"stream\":\(quoted(stream)),\"data\":\(inner),\"state\":\(quoted(stream)),\"message\":\(inner)}"
                )
            default:
                payload = json("{\"messages\":[\(inner),\(Self.object(&random, depth: 3))],\"sessionInfo\":\(inner)}")
            }
            var changes: [RunChange] = []
            for name in [
                "agent", "chat", "session.tool", "session.message", "sessions.changed", "exec.approval.requested",
            ] {
                changes += tracker.receive(event: name, payload: payload, now: now)
            }
            changes += tracker.receive(history: payload, session: session, now: now)
            changes += tracker.tick(now: now)
            if round % 500 == 499 { tracker.relink(process: round % 1000 < 500 ? .same : .other, now: now) }
            for change in changes {
                switch change {
                case .textAppended(let run, let offset, let text):
                    #expect(offset == texts[run] ?? 0)
                    texts[run] = offset + text.utf16.count
                case .textReplaced(let run, let text): texts[run] = text.utf16.count
                default: break
                }
            }
            _ = MessagePage(history: payload, session: session, tracker: tracker, now: now).slice(limit: 5)
        }
        for run in tracker.runs() {
            var writer = JSONWriter()
            run.write(to: &writer)
            _ = json(String(decoding: writer.bytes, as: UTF8.self))
        }
    }
}
