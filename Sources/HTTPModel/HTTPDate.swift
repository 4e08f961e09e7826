/// Writes the fixed-length date of HTTP (RFC 9110 §5.6.7), always 29 bytes: `Sun, 06 Nov 1994 08:49:37 GMT`.
package enum HTTPDate {
    private static let days = Array("SunMonTueWedThuFriSat".utf8)
    private static let months = Array("JanFebMarAprMayJunJulAugSepOctNovDec".utf8)

    /// - Parameter unixSeconds: taken within years 0 to 9999.
    package static func bytes(unixSeconds: Int64) -> [UInt8] {
        let seconds = min(max(unixSeconds, -62_167_219_200), 253_402_300_799)
        var day = seconds / 86_400
        var rest = Int(seconds % 86_400)
        if rest < 0 {
            day -= 1
            rest += 86_400
        }
        let (year, month, dayOfMonth) = civil(fromDay: day)
        let weekday = Int(((day + 4) % 7 + 7) % 7)
        var date: [UInt8] = []
        date.reserveCapacity(29)
        date += days[weekday * 3..<weekday * 3 + 3]
        date += ", ".utf8
        append(&date, dayOfMonth)
        date.append(ASCII.space)
        date += months[(month - 1) * 3..<month * 3]
        date.append(ASCII.space)
        append(&date, year / 100)
        append(&date, year % 100)
        date.append(ASCII.space)
        append(&date, rest / 3600)
        date.append(ASCII.colon)
        append(&date, rest / 60 % 60)
        date.append(ASCII.colon)
        append(&date, rest % 60)
        date += " GMT".utf8
        return date
    }

    private static func append(_ date: inout [UInt8], _ twoDigits: Int) {
        date.append(0x30 + UInt8(twoDigits / 10))
        date.append(0x30 + UInt8(twoDigits % 10))
    }

    /// Days since 1970 to year, month and day in the Gregorian calendar, counting eras of 400 years from 1 March 0000
    /// so that the leap day is the last of a year.
    private static func civil(fromDay day: Int64) -> (year: Int, month: Int, day: Int) {
        let shifted = Int(day) + 719_468
        let era = (shifted >= 0 ? shifted : shifted - 146_096) / 146_097
        let dayOfEra = shifted - era * 146_097
        let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let marchMonth = (5 * dayOfYear + 2) / 153
        let month = marchMonth < 10 ? marchMonth + 3 : marchMonth - 9
        let year = yearOfEra + era * 400 + (month <= 2 ? 1 : 0)
        return (year, month, dayOfYear - (153 * marchMonth + 2) / 5 + 1)
    }
}
