import Basics

/// Times as people read them, in the time zone of the reader.
package struct ReadableTime {
    private let now: Int64
    private let offset: (_ seconds: Int64) -> Int

    /// - Parameter utcOffset: seconds east of UTC at a time in seconds.
    package init(now milliseconds: Int64, utcOffset: @escaping (_ seconds: Int64) -> Int = { _ in 0 }) {
        now = milliseconds
        offset = utcOffset
    }

    /// `14:05` today, `Nov 21 14:05` this year, otherwise the date.
    /// - Parameter seconds: for `14:05:09`.
    package func short(_ rfc3339: String?, seconds: Bool = false) -> String {
        guard let rfc3339, let time = Timestamp(rfc3339: rfc3339) else { return "" }
        let now = parts(now)
        let then = parts(time.milliseconds)
        let numbers = [then.second / 3600, then.second / 60 % 60] + (seconds ? [then.second % 60] : [])
        let clock = numbers.map(Self.two).joined(separator: ":")
        if then.date == now.date { return clock }
        let day = "\(Self.months[Int(then.date.month - 1) % 12]) \(then.date.day)"
        return then.date.year == now.date.year ? "\(day) \(clock)" : "\(day) \(then.date.year)"
    }

    /// `in 4 min`, `3 h ago`.
    package func relative(_ rfc3339: String?) -> String {
        guard let rfc3339, let time = Timestamp(rfc3339: rfc3339) else { return "" }
        let distance = time.milliseconds - now
        let text = Self.span(abs(distance))
        return distance >= 0 ? "in \(text)" : "\(text) ago"
    }

    package static func span(_ milliseconds: Int64) -> String {
        switch milliseconds {
        case ..<1000: "\(milliseconds) ms"
        case ..<60_000: "\(milliseconds / 1000) s"
        case ..<3_600_000: "\(milliseconds / 60_000) min"
        case ..<172_800_000: "\(milliseconds / 3_600_000) h"
        default: "\(milliseconds / 86_400_000) d"
        }
    }

    private static let months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]

    private func parts(_ milliseconds: Int64) -> (date: CivilDate, second: Int64) {
        let seconds = milliseconds / 1000 + Int64(offset(milliseconds / 1000))
        let days = Int64((Double(seconds) / 86_400).rounded(.down))
        return (CivilDate(daysSinceEpoch: days), seconds - days * 86_400)
    }

    private static func two(_ value: Int64) -> String { value < 10 ? "0\(value)" : "\(value)" }
}
