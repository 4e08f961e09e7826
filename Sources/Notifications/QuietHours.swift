package import Basics
package import JSONBytes

/// A daily window, or one on some days, in which only urgent notifications are sent. It follows the clocks of its time
/// zone.
package struct QuietHours: Sendable, Equatable {
    package enum Mode: String, Sendable, CaseIterable {
        /// Hold, and send the newest of each type and session at the end.
        case hold
        case drop
        /// Send one message at the end with the number of each type.
        case digest
    }

    package static let weekdays = ["sun", "mon", "tue", "wed", "thu", "fri", "sat"]

    package var isEnabled = false
    /// Minutes of the day: from inclusive, to exclusive. The window may span midnight.
    private(set) var from = 22 * 60
    private(set) var to = 7 * 60
    package var timeZone: String
    /// The days on which a window starts, Sunday is 0; empty means every day.
    private(set) var days: [Int] = []
    private(set) var minPriority = 5
    private(set) var allowedTypes = [NotificationType.approvalRequested.rawValue]
    package private(set) var mode = Mode.hold

    package init(timeZone: String) { self.timeZone = timeZone }

    // MARK: Time

    /// The end of the window around `now`; nil outside of one.
    package func end(at now: Timestamp, _ zone: TimeZoneTable) -> Timestamp? {
        guard isEnabled else { return nil }
        let seconds = now.milliseconds.dividedDown(by: 1000)
        let today = (seconds + Int64(zone.offset(at: seconds))).dividedDown(by: 86_400)
        var latest: Timestamp?
        // A window across midnight started yesterday; a change of offset may shift the day.
        for day in (today - 2)...(today + 1) {
            guard days.isEmpty || days.contains(CivilDate.weekday(daysSinceEpoch: day)) else { continue }
            let start = Self.instant(day: day, minute: from, zone, isFirst: true)
            let end = Self.instant(day: from < to ? day : day + 1, minute: to, zone, isFirst: false)
            guard start <= now, now < end else { continue }
            latest = max(latest ?? end, end)
        }
        return latest
    }

    /// The moment at which clocks show this time: the first or the last if they show it twice, the moment of the jump
    /// if they skip it.
    private static func instant(day: Int64, minute: Int, _ zone: TimeZoneTable, isFirst: Bool) -> Timestamp {
        let local = day * 86_400 + Int64(minute) * 60
        let before = Int64(zone.offset(at: local - 86_400))
        let after = Int64(zone.offset(at: local + 86_400))
        let shown = [local - before, local - after].filter { Int64(zone.offset(at: $0)) + $0 == local }
        if let found = isFirst ? shown.min() : shown.max() { return Timestamp(milliseconds: found * 1000) }
        var low = local - max(before, after)
        var high = local - min(before, after)
        while low < high {
            let middle = (low + high).dividedDown(by: 2)
            if Int64(zone.offset(at: middle)) == before { low = middle + 1 } else { high = middle }
        }
        return Timestamp(milliseconds: high * 1000)
    }

    package func admits(_ type: NotificationType, priority: Int) -> Bool {
        priority >= minPriority || allowedTypes.contains { type.matches($0) }
    }

    // MARK: JSON

    package static let fields = ["enabled", "from", "to", "timeZone", "days", "allow", "mode"]

    package func write(to writer: inout JSONWriter) {
        writer.object { object in
            object.member("enabled", isEnabled)
            object.member("from", Self.clock(from))
            object.member("to", Self.clock(to))
            object.member("timeZone", timeZone)
            object.array("days", of: days.map { Self.weekdays[$0] })
            object.object("allow") {
                $0.member("minPriority", minPriority)
                $0.array("types", of: allowedTypes)
            }
            object.member("mode", mode.rawValue)
        }
    }

    package var kept: [UInt8] {
        var writer = JSONWriter()
        write(to: &writer)
        return writer.bytes
    }

    package init?(kept json: [UInt8]) {
        guard let value = try? JSONDocument(parsing: json).root else { return nil }
        self.init(timeZone: "UTC")
        guard (try? take(value)) != nil else { return nil }
    }

    package mutating func take(_ value: JSONValue) throws(FormFault) {
        let form = NotificationForm(value)
        try form.flag("enabled", &isEnabled)
        try Self.minute("from", value, &from)
        try Self.minute("to", value, &to)
        guard from != to else { throw FormFault("to", "`from` and `to` are the same: switch quiet hours off instead.") }
        var zone: String? = timeZone
        try form.text("timeZone", &zone, bytes: NotificationLimits.nameBytes)
        guard let zone, TimeZoneTable.isName(zone) else {
            throw FormFault("timeZone", "`timeZone` is the name of a time zone such as Europe/Berlin.")
        }
        timeZone = zone
        var names = days.map { Self.weekdays[$0] }
        try form.texts("days", &names, most: 7) { Self.weekdays.contains($0) }
        days = names.compactMap { Self.weekdays.firstIndex(of: $0) }
        var mode: Mode? = mode
        try form.choice("mode", &mode)
        self.mode = mode ?? .hold
        guard let allow = value["allow"], !allow.isNull else { return }
        guard allow.kind == .object else { throw FormFault("allow", "`allow` is an object.") }
        for member in allow.members where member.key != "minPriority" && member.key != "types" {
            throw FormFault("allow", "`allow` has the fields minPriority and types.")
        }
        let inner = NotificationForm(allow)
        var priority: Int? = minPriority
        try inner.number("minPriority", &priority, 1...5)
        minPriority = priority ?? 5
        try inner.texts("types", &allowedTypes) { NotificationType.isPattern($0) }
    }

    private static func minute(_ field: String, _ value: JSONValue, _ minute: inout Int) throws(FormFault) {
        guard let given = value[field] else { return }
        let parts = (given.string ?? "").utf8.split(separator: UInt8(ascii: ":"), omittingEmptySubsequences: false)
        guard parts.map(\.count) == [2, 2], parts.joined().allSatisfy(\.isASCIIDigit) else {
            throw FormFault(field, "`\(field)` is a time of day such as 22:00.")
        }
        let numbers = parts.map { $0.reduce(0) { $0 * 10 + Int($1 - 0x30) } }
        guard numbers[0] < 24, numbers[1] < 60 else {
            throw FormFault(field, "`\(field)` is a time of day from 00:00 to 23:59.")
        }
        minute = numbers[0] * 60 + numbers[1]
    }

    private static func clock(_ minute: Int) -> String {
        let (hours, minutes) = (minute / 60, minute % 60)
        return (hours < 10 ? "0\(hours)" : "\(hours)") + (minutes < 10 ? ":0\(minutes)" : ":\(minutes)")
    }
}
