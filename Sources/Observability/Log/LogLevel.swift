/// The severity of a log line. The raw value is syslog's priority, which journald reads from a `<N>` prefix.
package enum LogLevel: UInt8, Sendable, CaseIterable, Comparable {
    case error = 3
    case warning = 4
    case notice = 5
    case info = 6
    case debug = 7

    /// `error` is the smallest. A threshold admits its own level and smaller ones.
    package static func < (left: LogLevel, right: LogLevel) -> Bool { left.rawValue < right.rawValue }

    package var name: String {
        switch self {
        case .error: "error"
        case .warning: "warning"
        case .notice: "notice"
        case .info: "info"
        case .debug: "debug"
        }
    }

    package init?(name: String) {
        guard let level = Self.allCases.first(where: { $0.name == name }) else { return nil }
        self = level
    }
}

/// A field of a log line.
package enum LogValue: Sendable, Equatable {
    case string(String)
    case int(Int64)
    case double(Double)
    case bool(Bool)
    /// Leaves the field out.
    case absent

    package static func string(_ text: String?) -> LogValue { text.map { LogValue.string($0) } ?? .absent }

    package static func int(_ number: some BinaryInteger) -> LogValue { .int(Int64(clamping: number)) }
}

extension LogValue: ExpressibleByStringLiteral, ExpressibleByIntegerLiteral, ExpressibleByFloatLiteral,
    ExpressibleByBooleanLiteral, ExpressibleByStringInterpolation
{
    package init(stringLiteral value: String) { self = .string(value) }
    package init(integerLiteral value: Int64) { self = .int(value) }
    package init(floatLiteral value: Double) { self = .double(value) }
    package init(booleanLiteral value: Bool) { self = .bool(value) }
}

package typealias LogFields = KeyValuePairs<String, LogValue>
