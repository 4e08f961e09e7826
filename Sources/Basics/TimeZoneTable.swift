/// The offsets of a time zone, from a file of the time zone database (TZif, RFC 9636). Names, leap seconds and daylight
/// saving marks are ignored: only the offset is used here.
package struct TimeZoneTable: Sendable, Equatable {
    package static let utc = TimeZoneTable(first: 0, rule: nil)

    /// The largest file of the database has 4 KiB, in its longest form.
    package static let fileBytes = 64 << 10
    /// RFC 9636 §3.2: offsets that software must accept. No zone ever had one near them.
    private static let offsets = -89_999...93_599

    /// Seconds of Unix time at which the offset changes.
    private var changes: [Int64] = []
    /// The offset after each change.
    private var later: [Int] = []
    /// The offset before the first change.
    private let first: Int
    /// The rule for all times after the last change.
    private var rule: ZoneRule?

    private init(first: Int, rule: ZoneRule?) {
        self.first = first
        self.rule = rule
    }

    /// Nil if the bytes are not a valid file of this kind.
    package init?(parsing bytes: [UInt8]) {
        guard bytes.count <= Self.fileBytes else { return nil }
        var reader = ZoneReader(bytes)
        guard var header = ZoneHeader(&reader) else { return nil }
        var timeBytes = 4
        // Later versions repeat all data with longer times, and end with a rule.
        if header.version >= UInt8(ascii: "2") {
            guard reader.skip(header.size(timeBytes: 4)), let second = ZoneHeader(&reader) else { return nil }
            header = second
            timeBytes = 8
        }
        guard header.size(timeBytes: timeBytes) <= reader.left, header.types >= 1, header.types <= 256 else {
            return nil
        }
        var changes: [Int64] = []
        for _ in 0..<header.times {
            guard let time = reader.integer(timeBytes), changes.last.map({ $0 < time }) ?? true else { return nil }
            changes.append(time)
        }
        let places = reader.take(header.times)
        var types: [Int] = []
        for _ in 0..<header.types {
            guard let offset = reader.integer(4), Self.offsets.contains(Int(offset)), reader.skip(2) else { return nil }
            types.append(Int(offset))
        }
        guard reader.skip(header.size(timeBytes: timeBytes) - header.times * (timeBytes + 1) - header.types * 6) else {
            return nil
        }
        first = types[0]
        for place in places {
            guard Int(place) < types.count else { return nil }
            later.append(types[Int(place)])
        }
        self.changes = changes
        guard timeBytes == 8 else { return }
        guard let footer = reader.line() else { return nil }
        guard !footer.isEmpty else { return }
        guard let rule = ZoneRule(footer), Self.offsets.contains(rule.standard),
            Self.offsets.contains(rule.saving?.offset ?? 0)
        else { return nil }
        self.rule = rule
    }

    /// Seconds to add to UTC.
    /// - Parameter seconds: a Unix time.
    package func offset(at seconds: Int64) -> Int {
        var low = 0
        var high = changes.count
        while low < high {
            let middle = (low + high) / 2
            if changes[middle] <= seconds { low = middle + 1 } else { high = middle }
        }
        if low == changes.count, let rule { return rule.offset(at: seconds) }
        return low == 0 ? first : later[low - 1]
    }

    /// Whether a text may be a zone's name, and so part of a path: words of letters, digits, `_`, `+` and `-` between
    /// slashes.
    package static func isName(_ text: String) -> Bool {
        guard (1...64).contains(text.utf8.count) else { return false }
        let parts = text.utf8.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
        // These folders repeat the database, with and without leap seconds.
        guard parts.count <= 3, let first = parts.first, !first.elementsEqual("right".utf8),
            !first.elementsEqual("posix".utf8)
        else { return false }
        return parts.allSatisfy { part in
            !part.isEmpty
                && part.allSatisfy { byte in
                    byte.isASCIILetter || byte.isASCIIDigit || byte == UInt8(ascii: "_") || byte == UInt8(ascii: "+")
                        || byte == UInt8(ascii: "-")
                }
        }
    }
}

/// RFC 9636 §3.1.
private struct ZoneHeader {
    let version: UInt8
    let times: Int
    let types: Int
    private let universal: Int
    private let standard: Int
    private let leaps: Int
    private let characters: Int

    init?(_ reader: inout ZoneReader) {
        guard reader.take(4).elementsEqual("TZif".utf8), let version = reader.take(1).first, reader.skip(15),
            let universal = reader.integer(4), let standard = reader.integer(4), let leaps = reader.integer(4),
            let times = reader.integer(4), let types = reader.integer(4), let characters = reader.integer(4),
            min(universal, standard, leaps, times, types, characters) >= 0
        else { return nil }
        self.version = version
        (self.universal, self.standard, self.leaps) = (Int(universal), Int(standard), Int(leaps))
        (self.times, self.types, self.characters) = (Int(times), Int(types), Int(characters))
    }

    /// The size of the data after the header. Each number has 31 bits, so the sum fits.
    func size(timeBytes: Int) -> Int {
        times * (timeBytes + 1) + types * 6 + characters + leaps * (timeBytes + 4) + standard + universal
    }
}

private struct ZoneReader {
    private let bytes: [UInt8]
    private var place = 0

    init(_ bytes: [UInt8]) { self.bytes = bytes }

    var left: Int { bytes.count - place }

    mutating func skip(_ count: Int) -> Bool {
        guard count >= 0, count <= left else { return false }
        place += count
        return true
    }

    /// The next bytes; empty if there are fewer.
    mutating func take(_ count: Int) -> ArraySlice<UInt8> {
        let start = place
        return skip(count) ? bytes[start..<place] : []
    }

    /// Two's complement, the highest byte first.
    mutating func integer(_ count: Int) -> Int64? {
        let part = take(count)
        guard part.count == count else { return nil }
        let value = part.reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
        return count == 8 ? Int64(bitPattern: value) : Int64(Int32(truncatingIfNeeded: value))
    }

    /// The text up to the next line end.
    mutating func line() -> ArraySlice<UInt8>? {
        guard take(1).first == 0x0A, let end = bytes[place...].firstIndex(of: 0x0A) else { return nil }
        defer { place = end + 1 }
        return bytes[place..<end]
    }
}
