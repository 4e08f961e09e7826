import Basics
import Gateway
import JSONBytes
import Labels
import TestSupport
import Testing

@testable import Runs

/// The frames of a run may come in any order and more than once.
struct FrameOrderTests {
    /// The parts of a run that must be the same in any order of frames.
    struct Outcome: Equatable {
        var state: Run.State
        var text: String
        var error: String?
        var startedAt: Timestamp
        var steps: Set<String>
    }

    private static func outcomes(_ replay: Replay) -> [String: Outcome] {
        var found: [String: Outcome] = [:]
        for run in replay.tracker.runs() {
            found[run.id] = Outcome(
                state: run.state,
                text: run.text,
                error: run.error,
                startedAt: run.startedAt,
                steps: Set(
                    run.steps.map {
                        "\($0.id) \($0.kind) \($0.state) \($0.label) \($0.exitCode ?? -1) \($0.startedAt.milliseconds) \($0.detail ?? "")"
                    }
                )
            )
        }
        return found
    }

    private static func isEnd(_ entry: Capture.Entry) -> Bool {
        guard case .event(let event) = entry, case .chat(let chat) = event else { return false }
        return chat.state != .delta
    }

    /// Which send a run answers is told by order alone on protocol 3, rows without a key go by the clock to a run that is
    /// known, and a request for approval names no run.
    static let captures = CaptureReplayTests.expected.map(\.capture).filter {
        !$0.hasPrefix("chat-send-while-busy.v2026.3") && !$0.hasPrefix("sessions.v2026.6")
            && !$0.hasPrefix("exec-approval")
    }

    @Test(arguments: Set(captures).sorted())
    func `any order and any repetition of a recording ends in the same runs`(name: String) throws {
        let capture = try Capture(named: name)
        let sent = capture.entries.filter { if case .sent = $0.entry { true } else { false } }
        let pages = capture.entries.filter { if case .history = $0.entry { true } else { false } }
        let events = capture.entries.filter { if case .event = $0.entry { true } else { false } }
        // Behind its end nothing more of a run is taken.
        let ends = events.filter { Self.isEnd($0.entry) }
        let rest = events.filter { !Self.isEnd($0.entry) }
        var ordered = Replay(labels: .extended, profile: capture.profile)
        for (at, entry) in sent + rest + pages + ends { ordered.take(entry, at: at) }
        ordered.finish()
        let expected = Self.outcomes(ordered)
        var random = SeededRandom(7)
        for round in 0..<14 {
            var frames = rest
            for _ in 0..<rest.count / 2 { if let again = rest.randomElement(using: &random) { frames.append(again) } }
            switch round {
            case 0: frames = rest + rest
            case 1: frames = rest.reversed()
            case 2..<8:
                // Neighbours overtake each other, as two sources of one connection do.
                frames = rest
                for place in frames.indices.dropLast() where random.next() % 3 == 0 { frames.swapAt(place, place + 1) }
            default: frames.shuffle(using: &random)
            }
            var replay = Replay(labels: .extended, profile: capture.profile)
            for (at, entry) in sent + frames + pages + ends { replay.take(entry, at: at) }
            replay.finish()
            let outcome = Self.outcomes(replay)
            for (id, run) in expected where run.state != .queued {
                #expect(outcome[id] == run, "\(name) round \(round)")
            }
        }
    }
}
