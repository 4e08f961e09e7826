// CPU time of the reducer: all frames about runs in a folder of recordings, parsed alone and parsed and reduced; and one more piece
// of text, by the length of the run's text. Built by `run` beside this file; the figures are CPU time of the thread, the best of
// several passes.

import Basics
import Foundation
import Gateway
import JSONBytes
import Runs

struct Recording {
    var frames: [(name: String, bytes: [UInt8])] = []

    init(folder: String) throws {
        for file in try FileManager.default.contentsOfDirectory(atPath: folder).sorted() where file.hasSuffix(".jsonl")
        {
            let data = [UInt8](try Data(contentsOf: URL(filePath: folder + "/" + file)))
            for line in data.split(separator: 0x0A) {
                guard let row = try? JSONDocument(parsing: Array(line), limits: .gateway).root,
                    let frame = row["frame"],
                    let name = frame["event"]?.string,
                    ["agent", "chat"].contains(name) || name.hasPrefix("session") || name.hasPrefix("exec.")
                else { continue }
                frames.append((name, Array(frame.raw)))
            }
        }
    }

    var bytes: Int { frames.reduce(0) { $0 + $1.bytes.count } }

    /// - Returns: the number of changes, so that nothing is optimised away.
    func pass(reducing: Bool) -> Int {
        var tracker = RunTracker()
        var changes = 0
        for (place, frame) in frames.enumerated() {
            guard let root = try? JSONDocument(parsing: frame.bytes, limits: .gateway).root, reducing else { continue }
            let now = Timestamp(milliseconds: 1_795_183_000_000 + Int64(place))
            let event = GatewayEventPayload(event: frame.name, root["payload"])
            changes += tracker.receive(event, now: now).count
        }
        return changes
    }

    func seconds(reducing: Bool) -> Double {
        var best = Double.infinity
        for _ in 0..<15 {
            let start = cpu()
            guard pass(reducing: reducing) >= 0 else { continue }
            best = min(best, cpu() - start)
        }
        return best
    }
}

func cpu() -> Double {
    var time = timespec()
    unsafe clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
    return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
}

/// A run whose text grows by one word after another.
struct GrowingText: Sendable {
    private static let word = "word of eight. "
    private static let pieces = 64
    let name: String
    /// The members of the event that brings one more word.
    let frame: @Sendable (_ sequence: Int, _ textSoFar: String) -> String

    static let forms = [
        GrowingText(name: "an agent's piece") { sequence, _ in
            #"{"event":"agent","payload":{"runId":"r","seq":\#(sequence),"stream":"assistant","data":{"delta":"\#(word)"}"#
        },
        GrowingText(name: "a chat piece") { sequence, _ in
            #"{"event":"chat","payload":{"runId":"r","seq":\#(sequence),"state":"delta","deltaText":"\#(word)""#
        },
        GrowingText(name: "the whole text so far") { sequence, text in
            #"{"event":"agent","payload":{"runId":"r","seq":\#(sequence),"stream":"assistant","data":{"text":"\#(text)"}"#
        },
    ]

    private func event(_ sequence: Int, _ textSoFar: String) -> GatewayEventPayload? {
        let bytes = Array((frame(sequence, textSoFar) + #","sessionKey":"agent:main:main"}}"#).utf8)
        guard let root = try? JSONDocument(parsing: bytes, limits: .gateway).root, let name = root["event"]?.string
        else { return nil }
        return GatewayEventPayload(event: name, root["payload"])
    }

    /// Nanoseconds for one more word behind a text of this length. Parsing is not counted.
    func nanoseconds(behind length: Int) -> Double {
        var best = Double.infinity
        let before = String(repeating: Self.word, count: length / Self.word.utf8.count)
        let events = (0..<Self.pieces).compactMap { place in
            event(place + 3, before + String(repeating: Self.word, count: place + 2))
        }
        for _ in 0..<5 {
            var tracker = RunTracker()
            let now = Timestamp(milliseconds: 1_795_183_000_000)
            // The first piece has what came before. It is not counted.
            let first = frame(2, before).replacing(#"delta":"\#(Self.word)"#, with: #"delta":"\#(before)"#)
                .replacing(#"deltaText":"\#(Self.word)"#, with: #"deltaText":"\#(before)"#)
            let bytes = Array((first + #","sessionKey":"agent:main:main"}}"#).utf8)
            guard let root = try? JSONDocument(parsing: bytes, limits: .gateway).root else { continue }
            _ = tracker.receive(GatewayEventPayload(event: root["event"]?.string ?? "", root["payload"]), now: now)
            // Nor is the growth of the buffers, which the next ones cause.
            for event in events.prefix(4) { _ = tracker.receive(event, now: now) }
            let start = cpu()
            for event in events.dropFirst(4) { _ = tracker.receive(event, now: now) }
            best = min(best, (cpu() - start) / Double(events.count - 4))
            guard (tracker.run("r")?.text.utf8.count ?? 0) > length else { return .nan }
        }
        return best * 1e9
    }
}

@main
enum Program {
    static func main() throws {
        let recording = try Recording(folder: CommandLine.arguments[1])
        for (name, reducing) in [("parse", false), ("parse and reduce", true)] {
            let rate = Double(recording.bytes) / recording.seconds(reducing: reducing) / 1e6
            print("\(name) \(recording.frames.count) recorded frames: \(Int(rate.rounded())) MB/s")
        }
        for form in GrowingText.forms {
            let figures = [10_000, 100_000, 1_000_000].map { length in
                "\(Int(form.nanoseconds(behind: length).rounded())) ns behind \(length / 1_000) KB"
            }
            print("\(form.name): \(figures.joined(separator: ", "))")
        }
    }
}
