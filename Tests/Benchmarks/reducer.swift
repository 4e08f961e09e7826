// CPU time of the reducer: all frames about runs in a folder of recordings, parsed alone and parsed and reduced.
// Built by `run` beside this file; the figures are CPU time of the thread, the best of several passes.

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
            let start = Self.cpu()
            guard pass(reducing: reducing) >= 0 else { continue }
            best = min(best, Self.cpu() - start)
        }
        return best
    }

    private static func cpu() -> Double {
        var time = timespec()
        unsafe clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
        return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
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
    }
}
