/// Durations and sizes as people write them.
package enum ConfigurationUnits {
    private static let times: [(unit: String, factor: Int64)] = [
        ("d", 86_400_000), ("h", 3_600_000), ("m", 60_000), ("s", 1000), ("ms", 1),
    ]
    private static let sizes: [(unit: String, factor: Int64)] = [
        ("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10), ("GB", 1_000_000_000), ("MB", 1_000_000), ("kB", 1000),
        ("KB", 1000), ("B", 1),
    ]

    /// Milliseconds; nil for anything but one whole number and one unit. Zero needs none.
    package static func milliseconds(_ text: String) -> Int64? {
        text == "0" ? 0 : product(text, times)
    }

    /// Bytes; a bare number is bytes.
    package static func bytes(_ text: String) -> Int64? {
        whole(text) ?? product(text, sizes)
    }

    package static func duration(_ milliseconds: Int64) -> String { shortest(milliseconds, times, zero: "0") }

    package static func size(_ bytes: Int64) -> String { shortest(bytes, Array(sizes.prefix(3)), zero: "0") }

    private static func product(_ text: String, _ units: [(unit: String, factor: Int64)]) -> Int64? {
        let digits = text.prefix { $0.isASCII && $0.isNumber }
        let unit = text.dropFirst(digits.count).drop { $0 == " " }
        guard let number = whole(String(digits)), let factor = units.first(where: { $0.unit == unit })?.factor else {
            return nil
        }
        let (value, overflow) = number.multipliedReportingOverflow(by: factor)
        return overflow ? nil : value
    }

    private static func whole(_ text: String) -> Int64? {
        guard !text.isEmpty, text.utf8.allSatisfy({ (0x30...0x39).contains($0) }) else { return nil }
        return Int64(text)
    }

    private static func shortest(_ value: Int64, _ units: [(unit: String, factor: Int64)], zero: String) -> String {
        guard value != 0 else { return zero }
        // 2d is no easier to read than 48h, but 7d is than 168h.
        for (unit, factor) in units where value % factor == 0 && (unit != "d" || value / factor > 2) {
            return "\(value / factor)\(unit)"
        }
        return "\(value)"
    }
}
