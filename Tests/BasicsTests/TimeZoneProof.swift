import Basics

/// Properties of every file that is accepted as a time zone. The fuzz driver uses them too.
enum TimeZoneProof {
    /// The violated property; nil if all hold.
    static func problem(with bytes: [UInt8]) -> String? {
        guard let zone = TimeZoneTable(parsing: bytes) else { return nil }
        let times: [Int64] = [
            .min, -1 << 40, -2_208_988_800, 0, 1_795_000_000, 1_806_000_000, 4_102_444_800, 1 << 40, .max,
        ]
        for time in times where abs(zone.offset(at: time)) > 100_000 { return "an offset of more than a day" }
        guard bytes.count > 44 else { return "a zone of nothing" }
        // Nothing after its end is needed, and everything before it is.
        if TimeZoneTable(parsing: Array(bytes.prefix(44))) != nil { return "a zone of a head alone" }
        return nil
    }
}
