/// A time zone's rule for all years, in the form of POSIX's TZ with the extensions of RFC 9636 §3.3.1: `CET-1CEST,M3.5.0,M10.5.0/3`.
struct ZoneRule: Sendable, Equatable {
    struct Saving: Sendable, Equatable {
        let offset: Int
        let start: Moment
        let end: Moment
    }

    /// A yearly moment, on the clocks that it changes.
    struct Moment: Sendable, Equatable {
        enum Day: Sendable, Equatable {
            /// The day of the year from 1, without the leap day.
            case numbered(Int64)
            /// The day of the year from 0, with the leap day.
            case counted(Int64)
            /// Week 5 is the last of its month; Sunday is 0.
            case weekday(month: Int64, week: Int64, day: Int64)
        }

        let day: Day
        let seconds: Int64

        /// Seconds since 1970 as counted by those clocks.
        func local(in year: Int64) -> Int64 {
            let newYear = CivilDate(year: year, month: 1, day: 1).daysSinceEpoch
            let days: Int64
            switch day {
            case .numbered(let number):
                let isLong = CivilDate.days(inMonth: 2, year: year) == 29
                days = newYear + number - (isLong && number >= 60 ? 0 : 1)
            case .counted(let number): days = newYear + number
            case .weekday(let month, let week, let day):
                let first = CivilDate(year: year, month: month, day: 1).daysSinceEpoch
                let ahead = (day - Int64(CivilDate.weekday(daysSinceEpoch: first)) + 7) % 7
                let date = ahead + (week - 1) * 7
                days = first + (date < CivilDate.days(inMonth: month, year: year) ? date : date - 7)
            }
            return days * 86_400 + seconds
        }
    }

    /// East of UTC in seconds.
    let standard: Int
    let saving: Saving?

    init?(_ text: ArraySlice<UInt8>) {
        var reader = RuleReader(text)
        guard reader.name(), let west = reader.duration(mostHours: 24) else { return nil }
        standard = -Int(west)
        guard !reader.isAtEnd else {
            saving = nil
            return
        }
        guard reader.name() else { return nil }
        var offset = standard + 3600
        if !reader.isNext(",") {
            guard let west = reader.duration(mostHours: 24) else { return nil }
            offset = -Int(west)
        }
        guard reader.take(","), let start = reader.moment(), reader.take(","), let end = reader.moment(), reader.isAtEnd
        else { return nil }
        saving = Saving(offset: offset, start: start, end: end)
    }

    /// For times farther away, in either direction, the offset at this distance is used.
    private static let horizon: Int64 = 1 << 45

    func offset(at seconds: Int64) -> Int {
        guard let saving else { return standard }
        let time = min(max(seconds, -Self.horizon), Self.horizon)
        let year = CivilDate(daysSinceEpoch: Timestamp.floorDivide(time + Int64(standard), 86_400)).year
        let start = saving.start.local(in: year) - Int64(standard)
        let end = saving.end.local(in: year) - Int64(saving.offset)
        // South of the equator the year begins in summer.
        let isSummer = start < end ? start <= time && time < end : !(end <= time && time < start)
        return isSummer ? saving.offset : standard
    }
}

private struct RuleReader {
    private var rest: ArraySlice<UInt8>

    init(_ text: ArraySlice<UInt8>) { rest = text }

    var isAtEnd: Bool { rest.isEmpty }

    func isNext(_ character: Unicode.Scalar) -> Bool { rest.first.map { UInt32($0) == character.value } ?? false }

    mutating func take(_ character: Unicode.Scalar) -> Bool {
        guard isNext(character) else { return false }
        rest.removeFirst()
        return true
    }

    /// At least three letters, or any text in angle brackets.
    mutating func name() -> Bool {
        if take("<") {
            guard let end = rest.firstIndex(of: UInt8(ascii: ">")), end - rest.startIndex >= 3 else { return false }
            rest = rest[(end + 1)...]
            return true
        }
        let letters = rest.prefix { $0.isASCIILetter }
        rest = rest.dropFirst(letters.count)
        return letters.count >= 3
    }

    /// At most three digits.
    private mutating func number(in range: ClosedRange<Int64>) -> Int64? {
        let digits = rest.prefix(3).prefix { $0.isASCIIDigit }
        guard !digits.isEmpty else { return nil }
        rest = rest.dropFirst(digits.count)
        let value = digits.reduce(0) { $0 * 10 + Int64($1 - 0x30) }
        return range.contains(value) ? value : nil
    }

    /// A duration in seconds, from hours and optional minutes and seconds.
    mutating func duration(mostHours: Int64) -> Int64? {
        let sign: Int64 = take("-") ? -1 : 1
        if sign == 1 { _ = take("+") }
        guard let hours = number(in: 0...mostHours) else { return nil }
        var seconds = hours * 3600
        if take(":") {
            guard let minutes = number(in: 0...59) else { return nil }
            seconds += minutes * 60
            if take(":") {
                guard let more = number(in: 0...59) else { return nil }
                seconds += more
            }
        }
        return sign * seconds
    }

    mutating func moment() -> ZoneRule.Moment? {
        let day: ZoneRule.Moment.Day
        if take("M") {
            guard let month = number(in: 1...12), take("."), let week = number(in: 1...5), take("."),
                let weekday = number(in: 0...6)
            else { return nil }
            day = .weekday(month: month, week: week, day: weekday)
        } else if take("J") {
            guard let number = number(in: 1...365) else { return nil }
            day = .numbered(number)
        } else {
            guard let number = number(in: 0...365) else { return nil }
            day = .counted(number)
        }
        guard take("/") else { return ZoneRule.Moment(day: day, seconds: 7200) }
        return duration(mostHours: 167).map { ZoneRule.Moment(day: day, seconds: $0) }
    }
}
