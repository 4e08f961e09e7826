/// The newest accepted sends, for reading out; the record file has all of them.
struct RecordRing {
    static let lineLimit = 10_000
    static let byteLimit = 8 << 20

    private(set) var lines: [[UInt8]] = []
    private var bytes = 0

    mutating func append(_ line: [UInt8]) {
        lines.append(line)
        bytes += line.count
        var excess = max(0, lines.count - Self.lineLimit)
        var kept = bytes - lines.prefix(excess).reduce(0) { $0 + $1.count }
        while kept > Self.byteLimit, excess < lines.count - 1 {
            kept -= lines[excess].count
            excess += 1
        }
        guard excess > 0 else { return }
        lines.removeFirst(excess)
        bytes = kept
    }
}
