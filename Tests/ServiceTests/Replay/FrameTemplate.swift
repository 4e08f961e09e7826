/// A recorded frame whose idempotency keys and times are replaced: a replay uses Ladle's own keys, and its clock stands
/// still while it waits for Ladle.
struct FrameTemplate: Sendable {
    private enum Piece: Sendable {
        case bytes([UInt8])
        case key(Int)
        case time(Int64)
    }

    /// Keys are UUIDs.
    private static let keyLength = 36
    private static let firstDash = 8
    private static let timeLength = 13
    /// Numbers within this distance of the recording's start are times.
    private static let nearMilliseconds: Int64 = 3 * 86_400_000

    private let pieces: [Piece]

    /// - Parameter epoch: the time at the start of the recording, in milliseconds since 1970.
    init(_ raw: ArraySlice<UInt8>, keys: [String: Int], epoch: Int64) {
        let bytes = Array(raw)
        var pieces: [Piece] = []
        var start = 0
        var place = 0
        func cut(_ piece: Piece, _ length: Int) {
            if place > start { pieces.append(.bytes(Array(bytes[start..<place]))) }
            pieces.append(piece)
            place += length
            start = place
        }
        while place < bytes.count {
            let byte = bytes[place]
            if place > 0, bytes[place - 1] == UInt8(ascii: "\""), place + Self.keyLength <= bytes.count,
                bytes[place + Self.firstDash] == UInt8(ascii: "-"),
                let key = keys[String(decoding: bytes[place..<place + Self.keyLength], as: UTF8.self)]
            {
                cut(.key(key), Self.keyLength)
            } else if byte == UInt8(ascii: "1"), place > 0, Self.beforeNumber.contains(bytes[place - 1]),
                let time = Self.time(bytes, at: place), abs(time - epoch) < Self.nearMilliseconds
            {
                cut(.time(time - epoch), Self.timeLength)
            } else {
                place += 1
            }
        }
        if start < bytes.count { pieces.append(.bytes(Array(bytes[start...]))) }
        self.pieces = pieces
    }

    private static let beforeNumber = Array(":,[".utf8)

    private static func time(_ bytes: [UInt8], at place: Int) -> Int64? {
        let end = place + timeLength
        guard end < bytes.count, !(0x30...0x39).contains(bytes[end]), bytes[end] != UInt8(ascii: ".") else {
            return nil
        }
        return Int64(String(decoding: bytes[place..<end], as: UTF8.self))
    }

    /// - Parameter key: the text for the recorded key of this number.
    /// - Parameter time: milliseconds since 1970 for a time of the recording.
    func filled(key: (Int) -> String, time: (Int64) -> Int64) -> [UInt8] {
        var bytes: [UInt8] = []
        for piece in pieces {
            switch piece {
            case .bytes(let text): bytes += text
            case .key(let number): bytes += Array(key(number).utf8)
            case .time(let moment): bytes += Array(String(time(moment)).utf8)
            }
        }
        return bytes
    }
}
