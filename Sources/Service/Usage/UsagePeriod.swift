package import Basics
import Gateway

/// The days of a report. Gateways of earlier releases use one UTC offset for all days, regardless of clock changes.
package struct UsagePeriod: Hashable, Sendable {
    package enum Fault: Error, Equatable {
        case endsBeforeItBegins
        case tooLong
    }

    /// One leap year.
    package static let mostDays: Int64 = 366
    /// The days of a report whose request names none.
    static let usualDays: Int64 = 30

    package let from: CivilDate
    package let to: CivilDate
    /// The requested zone; nil for the zone of Ladle's host.
    package let zone: String?
    /// The offset east of UTC, at noon of the last day.
    package let offsetMinutes: Int
    /// Whether the offset changes during the period.
    package let spansChange: Bool

    /// - Parameters:
    ///   - from, to: nil for the usual days, up to today.
    ///   - offset: seconds east of UTC at a time in seconds.
    package init(
        from: CivilDate?,
        to: CivilDate?,
        zone: String?,
        now: Timestamp,
        offset: (Int64) -> Int
    ) throws(Fault) {
        let last = to?.daysSinceEpoch ?? Self.day(of: now, offset: offset)
        let first = from?.daysSinceEpoch ?? last - Self.usualDays + 1
        guard first <= last else { throw .endsBeforeItBegins }
        guard last - first < Self.mostDays else { throw .tooLong }
        let noon = last * 86_400 + 43_200
        let seconds = offset(noon - Int64(offset(noon)))
        self.from = from ?? CivilDate(daysSinceEpoch: first)
        self.to = to ?? CivilDate(daysSinceEpoch: last)
        self.zone = zone
        offsetMinutes = seconds / 60
        spansChange = (first...(last + 1)).contains { offset($0 * 86_400 - Int64(seconds)) != seconds }
    }

    /// The period that is only today.
    package init(today now: Timestamp, offset: (Int64) -> Int) {
        let day = CivilDate(daysSinceEpoch: Self.day(of: now, offset: offset))
        let seconds = offset(now.milliseconds / 1000)
        from = day
        to = day
        zone = nil
        offsetMinutes = seconds / 60
        spansChange = false
    }

    /// The offset as `+02:00`.
    package var offsetText: String {
        func two(_ number: Int) -> String { number < 10 ? "0\(number)" : "\(number)" }
        return (offsetMinutes < 0 ? "-" : "+") + two(abs(offsetMinutes) / 60) + ":" + two(abs(offsetMinutes) % 60)
    }

    func dates(namingZone: Bool) -> UsageDates {
        UsageDates(from: from, to: to, offsetMinutes: offsetMinutes, timeZone: namingZone ? zone : nil)
    }

    private static func day(of time: Timestamp, offset: (Int64) -> Int) -> Int64 {
        let seconds = time.milliseconds / 1000
        return (seconds + Int64(offset(seconds))).dividedDown(by: 86_400)
    }
}
