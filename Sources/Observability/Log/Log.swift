package import Basics
import POSIX

/// Writes log lines. Cheap to copy, callable from any thread; fields of a level that is off are not built.
package struct Log: Sendable {
    private let sink: LogSink
    private let style: LogStyle
    private let level: LogLevel
    private let now: @Sendable () -> Timestamp

    package init(
        sink: LogSink,
        style: LogStyle = LogStyle(),
        level: LogLevel = .info,
        now: @escaping @Sendable () -> Timestamp = { Timestamp(milliseconds: HostClock.wallMilliseconds) }
    ) {
        self.sink = sink
        self.style = style
        self.level = level
        self.now = now
    }

    /// Writes nothing.
    package static let none = Log(sink: LogSink { _ in }, level: .error)

    /// The number of lines that were dropped.
    package var dropped: UInt64 { sink.dropped }

    /// Called at the end of the process; never on a loop.
    package func flush() { sink.flush() }

    package func admits(_ level: LogLevel) -> Bool { level <= self.level }

    /// - Parameter event: a stable dotted name such as `link.online`; all variable parts go into fields.
    package func write(_ level: LogLevel, _ event: String, _ fields: @autoclosure () -> LogFields = [:]) {
        guard admits(level) else { return }
        var line: [UInt8] = []
        line.reserveCapacity(160)
        style.append(level, event, fields(), at: now(), to: &line)
        sink.append(line)
    }

    package func error(_ event: String, _ fields: @autoclosure () -> LogFields = [:]) { write(.error, event, fields()) }
    package func warning(_ event: String, _ fields: @autoclosure () -> LogFields = [:]) {
        write(.warning, event, fields())
    }
    package func notice(_ event: String, _ fields: @autoclosure () -> LogFields = [:]) {
        write(.notice, event, fields())
    }
    package func info(_ event: String, _ fields: @autoclosure () -> LogFields = [:]) { write(.info, event, fields()) }
    package func debug(_ event: String, _ fields: @autoclosure () -> LogFields = [:]) { write(.debug, event, fields()) }
}
