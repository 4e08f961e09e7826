import Basics
import EventLoops
import Gateway
import JSONBytes
import Outbox
import Runs
import TestSupport
import Testing

@testable import Service

/// The answers to messages in a session that others keep busy, at gateways that report a waiting message in every known way. Seeds choose what
/// happens: how long each turn takes, which events are lost and in which order the others come, when the link breaks, when the gateway is
/// killed. What Ladle says is held against the gateway's own record, of which Ladle sees only what it would see.
struct QueueVariantTests {
    /// How the end of a message that waited is told: 2026.9.7 ends it at once, newer releases once its turn is over. (Read.)
    enum Variant: CaseIterable, Sendable { case earlyEnd, oneEnd, rowsAlone }

    @Test(arguments: Variant.allCases, 1...SimulatedQueue.seeds)
    func `every message has its own answer, and none runs twice`(variant: Variant, seed: UInt64) async throws {
        try await withServices { bench, loop in
            let queue = SimulatedQueue(bench, variant, seed)
            try await queue.open(on: loop)
            for _ in 0..<60 { try await queue.step(on: loop) }
            queue.isPeace = true
            var left = 600
            while left > 0, try await !queue.isOver() {
                try await queue.step(on: loop)
                left -= 1
            }
            try await queue.judge(isOver: true, on: loop)
            #expect(queue.answered > 0, "seed \(seed)")
        }
    }
}

/// The gateway's own record of one session, and the dice.
private final class SimulatedQueue {
    static let seeds: UInt64 = 24

    private struct Turn {
        var id: String
        /// The key of our message; nil for the message of another client.
        var key: String?
        var words: String
        /// Whether the empty end of a message that waits has been sent.
        var isToldEarly = false
    }

    private static let main = ServiceBench.main
    private let bench: ServiceBench
    private let variant: QueueVariantTests.Variant
    private let seed: UInt64
    private var dice: SeededRandom
    private var rows: [String] = []
    private var active: Turn?
    private var waiting: [Turn] = []
    /// Keys that the gateway's disk holds as waiting, from an earlier process.
    private var interrupted: [String] = []
    /// Keys of turns that are over, and those whose turn was cut off by a crash.
    private var ended: Set<String> = []
    private var cut: Set<String> = []
    private var rowsOfKey: [String: Int] = [:]
    private var boot = 1
    private var number = 0
    /// An event was lost since the last one.
    private var isHole = false
    private var accepted: [String] = []
    private(set) var answered = 0
    var isPeace = false

    init(_ bench: ServiceBench, _ variant: QueueVariantTests.Variant, _ seed: UInt64) {
        self.bench = bench
        self.variant = variant
        self.seed = seed
        dice = SeededRandom(seed)
    }

    private func chance(_ percent: Int) -> Bool { Int.random(in: 0..<100, using: &dice) < percent }
    private func now(_ loop: isolated EventLoop) -> Int64 { loop.wallClock.milliseconds }
    private static func answer(_ words: String) -> String { "Answer to \(words)." }

    func open(on loop: isolated EventLoop) async throws {
        bench.gateway.responder = { [weak self] request in self?.answer(request) }
        let text = #"""
            {"type":"hello-ok","protocol":4,"server":{"version":"2026.9.7","bootId":"boot-\#(boot)"},
            "features":{"methods":["sessions.subscribe"],"capabilities":["x"]},"snapshot":{"uptimeMs":3600000,
            "sessionDefaults":{"defaultAgentId":"main","mainKey":"main","mainSessionKey":"agent:main:main"}}}
            """#
        try await bench.open(try #require(Hello(json(text), requested: [])), on: loop)
    }

    // MARK: What it answers

    private func answer(_ request: ScriptedGateway.Request) -> ScriptedGateway.Reply? {
        switch request.method {
        case "chat.send": return .now(send(request["idempotencyKey"] ?? "", request["message"] ?? ""))
        case "chat.history": return .now(page(request))
        case "agent.wait":
            let key = request["runId"] ?? ""
            if waiting.contains(where: { $0.key == key }) || active?.key == key && active?.id != key {
                return .now(
                    ok(#"{"runId":"\#(key)","status":"pending","timeoutPhase":"queue","providerStarted":false}"#)
                )
            }
            return .now(ok(#"{"runId":"\#(key)","status":"\#(ended.contains(key) ? "ok" : "timeout")"}"#))
        default: return nil
        }
    }

    private func send(_ key: String, _ words: String) -> CallOutcome {
        let isKnown = active?.key == key || waiting.contains { $0.key == key }
        if isKnown { return ok(#"{"runId":"\#(key)","status":"in_flight"}"#) }
        if ended.contains(key) { return ok(#"{"runId":"\#(key)","status":"ok"}"#) }
        interrupted.removeAll { $0 == key }
        let isBusy = active != nil || !waiting.isEmpty
        if isBusy { number += 1 }
        waiting.append(Turn(id: isBusy ? "g-\(number)" : key, key: key, words: words))
        return ok(#"{"runId":"\#(key)","status":"started"}"#)
    }

    private func page(_ request: ScriptedGateway.Request) -> CallOutcome {
        let asked = request.params["inputRunIds"]?.elements.compactMap(\.string) ?? []
        let receipts: [String] = asked.compactMap { key in
            if waiting.contains(where: { $0.key == key }) {
                return #"{"runId":"\#(key)","state":"pending","queued":true}"#
            }
            return interrupted.contains(key) ? #"{"runId":"\#(key)","state":"pending"}"# : nil
        }
        let items = interrupted.map { #"{"id":"p-\#($0)","runId":"\#($0)","state":"interrupted"}"# }
        return ok(
            #"{"messages":[\#(rows.joined(separator: ","))],"hasMore":false,"sessionId":"c-1","#
                + #""inputReceipts":[\#(receipts.joined(separator: ","))],"#
                + #""pendingInputs":{"items":[\#(items.joined(separator: ","))],"total":\#(items.count)},"#
                + #""sessionInfo":{"hasActiveRun":\#(active != nil),"status":"\#(active == nil ? "done" : "running")","#
                + #""activeRunIds":[\#(active.map { "\"\($0.id)\"" } ?? "")]}}"#
        )
    }

    // MARK: What happens

    func step(on loop: isolated EventLoop) async throws {
        try await bench.advance(Int64.random(in: 50...3_000, using: &dice), on: loop)
        if !bench.gateway.isOnline { try await open(on: loop) }
        if !isPeace {
            if accepted.count < 12, chance(25) {
                if let id = try await bench.accept("words \(accepted.count)", on: loop) { accepted.append(id) }
                try await bench.advance(20, on: loop)
            }
            if chance(10), waiting.count < 3 {
                number += 1
                waiting.append(Turn(id: "theirs-\(number)", key: nil, words: "others \(number)"))
            }
            switch Int.random(in: 0..<100, using: &dice) {
            case 0..<5: try await bench.drop(on: loop)
            case 5..<8: try await crash(on: loop)
            default: break
            }
        }
        for place in waiting.indices where variant == .earlyEnd && !waiting[place].isToldEarly {
            waiting[place].isToldEarly = true
            guard let key = waiting[place].key, key != waiting[place].id else { continue }
            try await tell("chat", Frame.final(key, 0, nil), on: loop)
        }
        if active != nil, chance(50) { try await end(on: loop) }
        if active == nil, !waiting.isEmpty { try await begin(on: loop) }
        try await judge(isOver: false, on: loop)
    }

    /// Kills the gateway: its disk keeps rows, and what waited is interrupted.
    private func crash(on loop: isolated EventLoop) async throws {
        try await bench.drop(on: loop)
        if let key = active?.key { cut.insert(key) }
        active = nil
        interrupted += waiting.compactMap(\.key)
        waiting = []
        ended = []
        boot += 1
        try await open(on: loop)
    }

    private func tell(_ name: String, _ payload: String, on loop: isolated EventLoop) async throws {
        guard bench.gateway.isOnline, variant != .rowsAlone || name == "session.message" else { return }
        guard isPeace || !chance(10) else {
            isHole = true
            return
        }
        // A connection counts its events, so the next one shows the hole.
        if isHole { bench.services.events.notify(.framesLost, on: loop) }
        isHole = false
        try await bench.event(name, payload, on: loop)
    }

    private func begin(on loop: isolated EventLoop) async throws {
        let turn = waiting.removeFirst()
        active = turn
        let at = now(loop)
        let row = Row.user(turn.words, key: turn.key ?? turn.id, id: "u-\(rows.count)", at: at)
        rows.append(row)
        if let key = turn.key { rowsOfKey[key, default: 0] += 1 }
        var events = [
            ("agent", Frame.start(turn.id, at: at)), ("session.message", #"{"sessionKey":"main","message":\#(row)}"#),
        ]
        if chance(30) { events.swapAt(events.count - 1, events.count - 2) }
        for (name, payload) in events { try await tell(name, payload, on: loop) }
    }

    private func end(on loop: isolated EventLoop) async throws {
        guard let turn = active else { return }
        active = nil
        let words = Self.answer(turn.words)
        let row =
            #"{"role":"assistant","content":[{"type":"text","text":"\#(words)"}],"timestamp":\#(now(loop)),"#
            + #""stopReason":"stop","__openclaw":{"id":"a-\#(rows.count)","runId":"\#(turn.id)"}}"#
        rows.append(row)
        if let key = turn.key { ended.insert(key) }
        var events = [("session.message", #"{"sessionKey":"main","message":\#(row)}"#)]
        let isOwn = turn.key == turn.id || turn.key == nil
        if variant != .oneEnd || isOwn { events.append(("chat", Frame.final(turn.id, 9, words))) }
        if variant == .oneEnd, !isOwn, let key = turn.key { events.append(("chat", Frame.final(key, 9, words))) }
        events.shuffle(using: &dice)
        for (name, payload) in events { try await tell(name, payload, on: loop) }
    }

    // MARK: The judge

    func isOver() async throws -> Bool {
        guard active == nil, waiting.isEmpty else { return false }
        for id in accepted where try await bench.entry(id).state.hasEnded == false { return false }
        return accepted.allSatisfy { bench.services.runs.run($0).map { !$0.state.isActive } ?? false }
    }

    func judge(isOver: Bool, on loop: isolated EventLoop) async throws {
        answered = 0
        for (place, id) in accepted.enumerated() {
            let entry = try await bench.entry(id)
            let keys = rowsOfKey.keys.filter { $0.hasPrefix(id) }
            let count = keys.reduce(0) { $0 + (rowsOfKey[$1] ?? 0) }
            let mark = "\(id) of \(variant), seed \(seed)"
            #expect(count <= 1, "it runs twice: \(mark)")
            #expect(entry.state != .failed && entry.state != .expired, "nobody stopped it: \(mark)")
            if entry.state == .delivered { #expect(count == 1, "it is delivered and has no row: \(mark)") }
            let run = bench.services.runs.run(id)
            let wanted = Self.answer("words \(place)")
            if run?.state == .completed {
                #expect(rows.contains { $0.contains(wanted) }, "its turn is not over: \(mark)")
                #expect(run?.text == wanted, "another text: \(mark)")
                answered += 1
            } else if let text = run?.text {
                #expect(
                    wanted.hasPrefix(text),
                    "another text, of a run that is \(String(describing: run?.state)): \(mark)"
                )
            }
            guard isOver else { continue }
            #expect(entry.state == .delivered, "\(mark)")
            if rows.contains(where: { $0.contains(wanted) }) {
                #expect(run?.state == .completed, "\(mark): \(String(describing: run))")
            }
        }
    }
}
