package import Basics
import POSIX

/// What the program says while it runs. Cheap to copy and to call from anywhere; fields are not built for levels that
/// are off.
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

    /// Swallows everything.
    package static let none = Log(sink: LogSink { _ in }, level: .error)

    /// Lines lost because nobody took them.
    package var dropped: UInt64 { sink.dropped }

    /// At the end of the process; never on a loop.
    package func flush() { sink.flush() }

    package func admits(_ level: LogLevel) -> Bool { level <= self.level }

    /// `event` is a stable dotted name (`link.online`); what varies goes into fields.
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
