/// A key of `ladle top`.
enum TopKey: Equatable {
    case up, down, pageUp, pageDown, home, end, enter, escape
    case letter(Character)

    /// The keys of bytes that came at once. Several letters are pasted text, which must decide nothing.
    static func keys(_ bytes: [UInt8]) -> [TopKey] {
        if bytes == [0x1B] { return [.escape] }
        if bytes.count == 1 { return single(bytes[0]).map { [$0] } ?? [] }
        var keys: [TopKey] = []
        var rest = bytes[...]
        while !rest.isEmpty {
            guard let (key, length) = sequence(rest) else { return keys }
            keys.append(key)
            rest = rest.dropFirst(length)
        }
        return keys
    }

    private static func single(_ byte: UInt8) -> TopKey? {
        switch byte {
        case 0x0A, 0x0D: .enter
        case UInt8(ascii: "k"): .up
        case UInt8(ascii: "j"): .down
        case UInt8(ascii: "g"): .home
        case UInt8(ascii: "G"): .end
        case UInt8(ascii: "b"): .pageUp
        case UInt8(ascii: " "): .pageDown
        case 0x21...0x7E: .letter(Character(Unicode.Scalar(byte)))
        default: nil
        }
    }

    /// The codes that terminals send for the keys that move.
    private static let sequences: [(code: String, key: TopKey)] = [
        ("[A", .up), ("OA", .up), ("[B", .down), ("OB", .down), ("[C", .enter), ("OC", .enter), ("[D", .escape),
        ("OD", .escape), ("[5~", .pageUp), ("[6~", .pageDown), ("[H", .home), ("OH", .home), ("[1~", .home),
        ("[F", .end), ("OF", .end), ("[4~", .end),
    ]

    private static func sequence(_ bytes: ArraySlice<UInt8>) -> (TopKey, Int)? {
        guard bytes.first == 0x1B else { return nil }
        let rest = bytes.dropFirst()
        return sequences.first { rest.starts(with: $0.code.utf8) }.map { ($0.key, 1 + $0.code.utf8.count) }
    }
}
