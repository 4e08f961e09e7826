import Basics
import EventLoops
import Gateway
import JSONBytes
import Outbox
import Runs
import Service
import Store

/// Plays a recording to the services: its events come at their recorded times, its messages are sent by Ladle, calls
/// are answered by `RecordedGateway`. At a send of the recorder, the recording stands still until Ladle has sent the
/// same message.
final class CutReplay {
    /// The time within which a message to a free session is sent.
    private static let patience: Int64 = 60_000
    /// The time to find out the final outcomes.
    private static let grace: Int64 = 150_000
    private static let stride: Int64 = 250

    private let recording: GatewayRecording
    private let cut: ReplayCut?
    private let bench: ServiceBench
    private let gateway: RecordedGateway
    private var account = ReplayAccount()
    /// The recorded connection that is open now.
    private var opening: GatewayRecording.Opening?
    /// The first connection to each process with its time on the replay's clock: the recording may wait for Ladle.
    private var firstOpenings: [Int: (opening: GatewayRecording.Opening, clock: Int64)] = [:]
    /// The clock's time until which the cut keeps the link closed.
    private var closedUntil: Int64?
    private var isOver = false

    /// - Parameter cut: nil for a replay without an interruption.
    static func account(of recording: GatewayRecording, cut: ReplayCut?) async throws -> ReplayAccount {
        let start = Timestamp(milliseconds: recording.epoch)
        return try await withServices(startingAt: start) { bench, loop in
            try await CutReplay(recording, cut, bench).play(on: loop)
        }
    }

    private init(_ recording: GatewayRecording, _ cut: ReplayCut?, _ bench: ServiceBench) {
        self.recording = recording
        self.cut = cut
        self.bench = bench
        gateway = RecordedGateway(recording)
        let clock = bench.clock
        gateway.clock = { clock.wall.milliseconds - recording.epoch }
        bench.gateway.responder = { [gateway] in gateway.reply(to: $0) }
    }

    private var clock: Int64 { gateway.clock() }

    private func play(on loop: isolated EventLoop) async throws -> ReplayAccount {
        for (place, timed) in recording.steps.enumerated() {
            try await pass(until: gateway.timeline.clock(at: timed.time), on: loop)
            try await take(timed.step, on: loop)
            if isOver { break }
            if let cut, cut.step == place { try await interrupt(cut.kind, on: loop) }
        }
        if !isOver {
            try await pass(until: clock + Self.grace, on: loop)
            account.isWhole = true
        }
        return try await finished()
    }

    // MARK: Time and the link

    private func pass(until end: Int64, on loop: isolated EventLoop) async throws {
        if let opens = closedUntil, opens <= end {
            try await bench.advance(max(0, opens - clock), on: loop)
            closedUntil = nil
            try await openLink(on: loop)
        }
        if end > clock { try await bench.advance(end - clock, on: loop) }
    }

    private func openLink(on loop: isolated EventLoop) async throws {
        guard let opening, let first = firstOpenings[opening.process], closedUntil == nil, !bench.gateway.isOnline
        else { return }
        let uptime = first.opening.uptime + clock - first.clock
        let text = opening.payload.replacing("\"uptimeMs\":\(opening.uptime)", with: "\"uptimeMs\":\(uptime)")
        guard let hello = Hello(json(text), requested: ["operator.read", "operator.write", "operator.admin"]) else {
            return
        }
        gateway.openedAt = clock
        try await bench.open(hello, on: loop)
    }

    private func closeLink(on loop: isolated EventLoop) async throws {
        guard bench.gateway.isOnline else { return }
        try await bench.drop(on: loop)
    }

    private func interrupt(_ kind: ReplayCut.Kind, on loop: isolated EventLoop) async throws {
        closedUntil = clock + kind.milliseconds
        if kind.killsLadle {
            keepEvents()
            try await bench.kill(on: loop)
        } else {
            try await closeLink(on: loop)
        }
    }

    // MARK: Steps

    private func take(_ step: GatewayRecording.Step, on loop: isolated EventLoop) async throws {
        switch step {
        case .opened(let hello):
            let next = recording.openings[hello]
            opening = next
            if firstOpenings[next.process] == nil { firstOpenings[next.process] = (next, clock) }
            try await openLink(on: loop)
        case .closed:
            opening = nil
            try await closeLink(on: loop)
        case .event(let name, let frame):
            guard bench.gateway.isOnline else { return }
            let root = try JSONDocument(parsing: gateway.filled(frame), limits: .gateway).root
            bench.services.events.notify(.gatewayEvent(GatewayEvent(name: name, root)), on: loop)
            try await bench.settle(on: loop)
        case .sent(let message): try await send(message, on: loop)
        case .acknowledged(let message):
            guard let answer = gateway.acknowledge(message) else { return }
            bench.gateway.answer(answer.call, answer.outcome)
            try await bench.settle(on: loop)
        case .ranAgain(let message): try await repeatSend(message, on: loop)
        }
    }

    /// A person gives Ladle the message. If a release wants it to wait because the session is busy, the recorder's
    /// message is taken for another client's.
    private func send(_ message: Int, on loop: isolated EventLoop) async throws {
        let recorded = recording.messages[message]
        let isBusy = recording.isBusy(recorded.session, before: message)
        gateway.timeline.stop(at: clock)
        if let opens = closedUntil { try await pass(until: opens, on: loop) }
        gateway.awaited = message
        let id = try await bench.accept(recorded.text, session: recorded.session, on: loop)
        gateway.entries[message] = id
        let end = clock + (isBusy ? 0 : Self.patience)
        while gateway.keys[message] == nil, clock < end { try await pass(until: clock + Self.stride, on: loop) }
        gateway.awaited = nil
        if gateway.keys[message] == nil, case .success? = try await bench.cancel(id, on: loop) {
            gateway.entries[message] = nil
        }
        gateway.timeline.go(at: clock)
    }

    /// The recorder repeated the message to a new process, which ran it again. If Ladle does not, the recording has no
    /// more to show.
    private func repeatSend(_ message: Int, on loop: isolated EventLoop) async throws {
        guard gateway.entries[message] != nil else { return }
        let process = gateway.process
        gateway.timeline.stop(at: clock)
        let end = clock + Self.grace
        func isRepeated() -> Bool {
            gateway.dispatches.contains { $0.message == message && $0.process == process }
        }
        while !isRepeated(), clock < end { try await pass(until: clock + 1000, on: loop) }
        if isRepeated() {
            gateway.timeline.go(at: clock)
            return
        }
        isOver = true
        account.isWhole = true
        if !recording.isSure(of: message, at: gateway.now) { account.unknown.insert(message) }
    }

    // MARK: The account

    private func keepEvents() {
        for event in bench.published {
            guard let value = try? JSONDocument(parsing: event.data).root else { continue }
            let at = value["at"]?.string.flatMap { Timestamp(rfc3339: $0) }.map { $0.milliseconds - recording.epoch }
            account.events.append(
                ReplayAccount.Event(
                    time: gateway.timeline.world(at: at ?? clock),
                    type: event.type,
                    run: event.run,
                    value: value
                )
            )
        }
    }

    private func finished() async throws -> ReplayAccount {
        keepEvents()
        for id in gateway.entries {
            if let id { account.entries.append(try await bench.entry(id)) } else { account.entries.append(nil) }
        }
        account.keys = gateway.keys
        account.calls = gateway.calls
        account.dispatches = gateway.dispatches
        account.unknown.formUnion(gateway.strayed)
        account.openRuns = try await bench.journal.read { try $0.runs.active().map(\.id) }
        account.end = gateway.now
        return account
    }
}

extension GatewayRecording {
    /// Whether an earlier message in the session has not ended yet.
    func isBusy(_ session: String, before message: Int) -> Bool {
        let time = messages[message].sentAt
        return messages[..<message].enumerated().contains { place, earlier in
            guard earlier.session == session, process(at: earlier.sentAt) == process(at: time) else { return false }
            let ends = answers(to: place).flatMap(\.ends).filter { mark in
                if case .final(nil) = mark.mark { false } else { true }
            }
            // An error may be retried; the recorder waited until no more frames came.
            return !ends.contains { $0.time <= time }
        }
    }

    /// Whether the recording shows at that time if the message is in the transcript.
    func isSure(of message: Int, at time: Int64) -> Bool {
        let sent = messages[message]
        let present = process(at: time)
        let looked = calls.contains {
            $0.method == "chat.history" && $0.session == sent.session && $0.isOK && $0.process == present
                && $0.answered <= time
        }
        return looked || runs[sent.key]?.marks.isEmpty ?? true
    }
}

extension RecordedRow {
    /// Whether the row is the message's user row.
    func isOf(_ message: GatewayRecording.Message, epoch: Int64) -> Bool {
        if let key { return key == "\(message.key):user" }
        guard timestamp - epoch >= message.sentAt - 1500 else { return false }
        // 2026.3.1 makes one blank of every run of blanks and line feeds.
        let plain = { (text: String) in text.split(whereSeparator: \.isWhitespace).joined(separator: " ") }
        return plain(text) == plain(message.text) || text.hasSuffix("] \(message.text)")
            || text.contains("\n\(message.text)\n")
    }
}
