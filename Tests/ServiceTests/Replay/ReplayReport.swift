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

    /// Writes every finding to the folder that `LADLE_REPLAY_REPORT` names.
    func close() {
        guard let folder = Self.environment["LADLE_REPLAY_REPORT"] else { return }
        var text = ""
        for (rule, found) in lines.sorted(by: { $0.key.rawValue < $1.key.rawValue }) {
            for line in found { text += "\(recording.name): \(rule.rawValue): \(line)\n" }
        }
        try? Data(text.utf8).write(to: URL(filePath: folder).appending(path: "\(recording.name).txt"))
    }
}

extension GatewayRecording {
    /// Every step in every way, or those at which most depends on what Ladle kept: around sends, acknowledgements, starts,
    /// ends and lost connections.
    func cuts(all: Bool) -> [ReplayCut?] {
        let places = all ? Array(steps.indices) : turningPoints
        let kinds = all ? ReplayCut.Kind.allCases : [.ladle, .linkLong]
        return [nil] + places.flatMap { place in kinds.map { ReplayCut(step: place, kind: $0) } }
    }

    private static let mostPlaces = 5

    private var turningPoints: [Int] {
        var places: [Int] = []
        for (place, timed) in steps.enumerated() {
            switch timed.step {
            case .acknowledged, .closed: places.append(place)
            default: break
            }
        }
        let distance = max(1, places.count / Self.mostPlaces)
        return places.enumerated().filter { $0.offset % distance == distance - 1 }.map(\.element)
    }
}
