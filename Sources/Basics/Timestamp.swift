/// A moment as milliseconds since 1970-01-01T00:00:00Z; printed and read as RFC 3339 in UTC with milliseconds.
package struct Timestamp: Sendable, Hashable, Comparable {
    package var milliseconds: Int64

    package init(milliseconds: Int64) {
        self.milliseconds = milliseconds
    }

    package static func < (left: Timestamp, right: Timestamp) -> Bool { left.milliseconds < right.milliseconds }

    package func adding(milliseconds delta: Int64) -> Timestamp {
        Timestamp(milliseconds: milliseconds.addingReportingOverflow(delta).partialValue)
    }

    /// `2026-11-20T23:28:39.007Z`. Years outside 0...9999 are clamped: RFC 3339 has four digits.
    package var rfc3339: String {
        var bytes: [UInt8] = []
        append(to: &bytes)
        return String(decoding: bytes, as: UTF8.self)
    }

    package func append(to bytes: inout [UInt8]) {
        let clamped = min(max(milliseconds, Self.earliest), Self.latest)
        let day = Self.floorDivide(clamped, 86_400_000)
        let inDay = clamped - day * 86_400_000
        let date = CivilDate(daysSinceEpoch: day)
        Self.append(date.year, digits: 4, to: &bytes)
        bytes.append(UInt8(ascii: "-"))
        Self.append(date.month, digits: 2, to: &bytes)
        bytes.append(UInt8(ascii: "-"))
        Self.append(date.day, digits: 2, to: &bytes)
        bytes.append(UInt8(ascii: "T"))
        Self.append(inDay / 3_600_000, digits: 2, to: &bytes)
        bytes.append(UInt8(ascii: ":"))
        Self.append(inDay / 60_000 % 60, digits: 2, to: &bytes)
        bytes.append(UInt8(ascii: ":"))
        Self.append(inDay / 1000 % 60, digits: 2, to: &bytes)
        bytes.append(UInt8(ascii: "."))
        Self.append(inDay % 1000, digits: 3, to: &bytes)
        bytes.append(UInt8(ascii: "Z"))
    }

    /// Reads RFC 3339: any fraction (cut to milliseconds), `Z` or a numeric offset, `T` or a blank between date and time.
    package init?(rfc3339 text: String) {
        guard text.utf8.count <= 64 else { return nil }
        var reader = DigitReader(Array(text.utf8))
        guard
            let year = reader.number(4), reader.take("-"), let month = reader.number(2), reader.take("-"),
            let day = reader.number(2), reader.take("T") || reader.take("t") || reader.take(" "),
            let hour = reader.number(2), reader.take(":"), let minute = reader.number(2), reader.take(":"),
            let second = reader.number(2),
            (1...12).contains(month), day >= 1, day <= CivilDate.days(inMonth: month, year: year),
            hour < 24, minute < 60, second <= 60
        else { return nil }
        var fraction: Int64 = 0
        if reader.take(".") {
            guard let parsed = reader.milliseconds() else { return nil }
            fraction = parsed
        }
        guard let offset = reader.offsetMinutes(), reader.atEnd else { return nil }
        let days = CivilDate(year: year, month: month, day: day).daysSinceEpoch
        let seconds = days * 86_400 + hour * 3600 + minute * 60 + second - offset * 60
        self.init(milliseconds: seconds * 1000 + fraction)
    }

    private static let earliest: Int64 = -62_167_219_200_000
    private static let latest: Int64 = 253_402_300_799_999

    static func floorDivide(_ value: Int64, _ divisor: Int64) -> Int64 {
        let quotient = value / divisor
        return value % divisor < 0 ? quotient - 1 : quotient
    }

    private static func append(_ value: Int64, digits: Int, to bytes: inout [UInt8]) {
        var scale: Int64 = 1
        for _ in 1..<digits { scale *= 10 }
        while scale > 0 {
            bytes.append(UInt8(ascii: "0") + UInt8(value / scale % 10))
            scale /= 10
        }
    }
}

extension Int64 {
    /// The quotient, rounded towards the past.
    package func dividedDown(by divisor: Int64) -> Int64 { Timestamp.floorDivide(self, divisor) }
}

private struct DigitReader {
    private let bytes: [UInt8]
    private var position = 0

    init(_ bytes: [UInt8]) { self.bytes = bytes }

    var atEnd: Bool { position == bytes.count }

    mutating func take(_ character: Unicode.Scalar) -> Bool {
        guard position < bytes.count, UInt32(bytes[position]) == character.value else { return false }
        position += 1
        return true
    }

    mutating func number(_ digits: Int) -> Int64? {
        guard position + digits <= bytes.count else { return nil }
        var value: Int64 = 0
        for byte in bytes[position..<position + digits] {
            guard byte >= 0x30, byte <= 0x39 else { return nil }
            value = value * 10 + Int64(byte - 0x30)
        }
        position += digits
        return value
    }

    mutating func milliseconds() -> Int64? {
        var value: Int64 = 0
        var digits = 0
        while position < bytes.count, bytes[position] >= 0x30, bytes[position] <= 0x39 {
            if digits < 3 { value = value * 10 + Int64(bytes[position] - 0x30) }
            digits += 1
            position += 1
        }
        guard digits > 0 else { return nil }
        for _ in digits..<max(digits, 3) { value *= 10 }
        return value
    }

    mutating func offsetMinutes() -> Int64? {
        if take("Z") || take("z") { return 0 }
        let sign: Int64 = take("+") ? 1 : take("-") ? -1 : 0
        guard sign != 0, let hours = number(2), take(":"), let minutes = number(2), hours < 24, minutes < 60 else {
            return nil
        }
        return sign * (hours * 60 + minutes)
    }
}
