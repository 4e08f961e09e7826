import JSONBytes

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// The findings of all cuts of a recording, by rule.
struct ReplayReport {
    static let mostLines = 5
    private static let environment = ProcessInfo.processInfo.environment
    static let isLong = environment["LADLE_REPLAY"] == "all"
    /// The recordings whose name contains `LADLE_REPLAY_ONLY`.
    static let names = GatewayRecording.names.filter { environment["LADLE_REPLAY_ONLY"].map($0.contains) ?? true }
    /// The cut of `LADLE_REPLAY_CUT`, a step and a kind such as `12 ladle`, or `uncut`; its trace is written too.
    private static let traced = environment["LADLE_REPLAY_CUT"]

    private let recording: GatewayRecording
    private(set) var lines: [ReplayJudge.Rule: [String]] = [:]

    init(_ recording: GatewayRecording) {
        self.recording = recording
    }

    mutating func add(_ findings: [ReplayJudge.Finding], of cut: ReplayCut?) {
        for finding in findings {
            lines[finding.rule, default: []].append("\(cut.map { "\($0)" } ?? "uncut"): \(finding.sentence)")
        }
    }

    static func cuts(_ recording: GatewayRecording) -> [ReplayCut?] {
        guard let traced else { return recording.cuts(all: isLong) }
        let all = recording.steps.indices.flatMap { place in
            ReplayCut.Kind.allCases.map { ReplayCut(step: place, kind: $0) }
        }
        return [nil] + all.filter { "\($0.step) \($0.kind)" == traced }
    }

    /// Ladle's reports and sends, for a single requested cut.
    func trace(_ account: ReplayAccount, of cut: ReplayCut?) {
        guard let traced = Self.traced, (traced == "uncut") == (cut == nil) else { return }
        var lines: [(Int64, String)] = account.events.map { ($0.time, String(decoding: $0.value.raw, as: UTF8.self)) }
        lines += account.calls.map { ($0.time, "\($0.method) \($0.params)") }
        lines += recording.steps.enumerated().map { ($1.time, "        step \($0): \($1.step.name)") }
        let text = lines.enumerated().sorted { ($0.element.0, $0.offset) < ($1.element.0, $1.offset) }
            .map { "\($0.element.0) \($0.element.1)\n" }.joined()
        write(text, "trace.txt")
    }

    private func write(_ text: String, _ ending: String) {
        guard let folder = Self.environment["LADLE_REPLAY_REPORT"] else { return }
        try? Data(text.utf8).write(to: URL(filePath: folder).appending(path: "\(recording.name).\(ending)"))
    }

    /// Writes every finding to the folder named by `LADLE_REPLAY_REPORT`.
    func close() {
        var text = ""
        for (rule, found) in lines.sorted(by: { $0.key.rawValue < $1.key.rawValue }) {
            for line in found { text += "\(recording.name): \(rule.rawValue): \(line)\n" }
        }
        write(text, "findings.txt")
    }
}

extension GatewayRecording.Step {
    fileprivate var name: String {
        switch self {
        case .opened: "the link opens"
        case .closed: "the link closes"
        case .event(let name, let frame):
            "\(name) \(String(decoding: frame.filled(key: { "message \($0)" }, time: { $0 }).prefix(200), as: UTF8.self))"
        case .sent(let message): "message \(message) is sent"
        case .acknowledged(let message): "message \(message) is acknowledged"
        case .ranAgain(let message): "message \(message) is sent again and run again"
        }
    }
}

extension GatewayRecording {
    /// The cuts to test: every step, in every way where Ladle's stored state matters most; or a few of these, each way
    /// in turn.
    func cuts(all: Bool) -> [ReplayCut?] {
        let kinds = ReplayCut.Kind.allCases
        let places = turningPoints
        if all {
            let turns = Set(places)
            return [nil]
                + steps.indices.flatMap { place in
                    kinds.indices.filter { turns.contains(place) || $0 == place % kinds.count }
                        .map { ReplayCut(step: place, kind: kinds[$0]) }
                }
        }
        let count = max(2, min(places.count, Self.mostPlaces, Self.mostSteps / max(1, steps.count)))
        // Spread evenly, at different places in each recording.
        let first = name.utf8.reduce(0) { $0 &+ Int($1) }
        let chosen = (0..<count).map { places[($0 * places.count + first % places.count) / count % places.count] }
        return [nil]
            + Set(chosen).sorted().enumerated().map { number, place in
                ReplayCut(step: place, kind: kinds[(first + number) % kinds.count])
            }
    }

    private static let mostPlaces = 6
    /// The number of played steps after which a recording ends.
    private static let mostSteps = 1000

    /// Sends, acknowledgements, connections, and the starts and ends of runs with the steps before them.
    private var turningPoints: [Int] {
        var turns: Set<Int64> = []
        for mark in runs.values.flatMap(\.marks) {
            switch mark.mark {
            case .began, .final, .aborted, .failed: turns.insert(mark.time)
            default: break
            }
        }
        var places: Set<Int> = []
        for (place, timed) in steps.enumerated() {
            switch timed.step {
            case .event where turns.contains(timed.time): places.formUnion([place, max(0, place - 1)])
            case .event: break
            default: places.insert(place)
            }
        }
        return places.sorted()
    }
}
