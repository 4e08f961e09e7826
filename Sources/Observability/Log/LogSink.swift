import Basics
import Dispatch
import POSIX
import Synchronization

/// Takes lines from any thread and writes them on its own queue, so that a blocked terminal or a full pipe never stops
/// a loop. If the reader is too slow, lines are dropped and counted, and a line says how many are missing.
package final class LogSink: Sendable {
    private struct State {
        var pending: [UInt8] = []
        var isDraining = false
        var dropped: UInt64 = 0
        var allDropped: UInt64 = 0
    }

    private let state = Mutex(State())
    private let queue = DispatchQueue(label: "ladle.log")
    private let capacity: Int
    private let write: @Sendable ([UInt8]) -> Void
    private let gap: @Sendable (UInt64) -> [UInt8]

    /// - Parameter gap: makes the line that takes the place of `count` missing ones.
    package init(
        capacity: Int = 256 << 10,
        gap: @escaping @Sendable (UInt64) -> [UInt8] = { Array("log.dropped count=\($0)\n".utf8) },
        write: @escaping @Sendable ([UInt8]) -> Void
    ) {
        self.capacity = capacity
        self.gap = gap
        self.write = write
    }

    /// Standard error.
    package static func standardError(style: LogStyle) -> LogSink {
        LogSink(gap: { style.gapLine($0) }) { StandardStream.error.write($0) }
    }

    package func append(_ line: [UInt8]) {
        let mustStart = state.withLock { state in
            guard state.pending.count + line.count <= capacity else {
                state.dropped &+= 1
                state.allDropped &+= 1
                return false
            }
            state.pending.append(contentsOf: line)
            defer { state.isDraining = true }
            return !state.isDraining
        }
        if mustStart { queue.async { self.drain() } }
    }

    /// Lines lost since the start.
    package var dropped: UInt64 { state.withLock { $0.allDropped } }

    /// Waits until the pending lines are written, or for the given time. For the end of the process; never on a loop.
    package func flush(milliseconds: Int = 1000) {
        let done = DispatchSemaphore(value: 0)
        queue.async { done.signal() }
        _ = done.wait(timeout: .now() + .milliseconds(milliseconds))
    }

    private func drain() {
        while true {
            let batch: [UInt8]? = state.withLock { state in
                guard !state.pending.isEmpty else {
                    state.isDraining = false
                    return nil
                }
                var taken: [UInt8] = []
                swap(&taken, &state.pending)
                if state.dropped > 0 {
                    taken.append(contentsOf: gap(state.dropped))
                    state.dropped = 0
                }
                return taken
            }
            guard let batch else { return }
            write(batch)
        }
    }
}

extension LogStyle {
    func gapLine(_ count: UInt64) -> [UInt8] {
        var line: [UInt8] = []
        append(
            .warning,
            "log.dropped",
            ["count": .int(count)],
            at: Timestamp(milliseconds: HostClock.wallMilliseconds),
            to: &line
        )
        return line
    }
}
