import Basics

/// Writes the fixed-length date of HTTP (RFC 9110 §5.6.7), always 29 bytes: `Sun, 06 Nov 1994 08:49:37 GMT`.
package enum HTTPDate {
    private static let days = Array("SunMonTueWedThuFriSat".utf8)
    private static let months = Array("JanFebMarAprMayJunJulAugSepOctNovDec".utf8)

    /// - Parameter unixSeconds: the time, limited to the years 0 to 9999.
    package static func bytes(unixSeconds: Int64) -> [UInt8] {
        let seconds = min(max(unixSeconds, -62_167_219_200), 253_402_300_799)
        var day = seconds / 86_400
        var rest = Int(seconds % 86_400)
        if rest < 0 {
            day -= 1
            rest += 86_400
        }
        let civil = CivilDate(daysSinceEpoch: day)
        let weekday = CivilDate.weekday(daysSinceEpoch: day)
        let month = Int(civil.month)
        var date: [UInt8] = []
        date.reserveCapacity(29)
        date += days[weekday * 3..<weekday * 3 + 3]
        date += ", ".utf8
        append(&date, Int(civil.day))
        date.append(ASCII.space)
        date += months[(month - 1) * 3..<month * 3]
        date.append(ASCII.space)
        append(&date, Int(civil.year) / 100)
        append(&date, Int(civil.year) % 100)
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
}
