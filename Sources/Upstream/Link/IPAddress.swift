/// Address literals, read strictly: what a resolver would guess at is treated as a name.
enum IPAddress {
    static func v4(_ text: some StringProtocol) -> [UInt8]? {
        let parts = text.split(separator: ".", omittingEmptySubsequences: false)
        guard parts.count == 4 else { return nil }
        var bytes: [UInt8] = []
        for part in parts {
            guard (1...3).contains(part.utf8.count), part.utf8.allSatisfy({ $0 >= 0x30 && $0 <= 0x39 }),
                part.utf8.count == 1 || part.utf8.first != 0x30, let byte = UInt8(part)
            else { return nil }
            bytes.append(byte)
        }
        return bytes
    }

    static func isV6(_ text: some StringProtocol) -> Bool { v6(text) != nil }

    static func v6(_ text: some StringProtocol) -> [UInt8]? {
        let halves = String(text).split(separator: "::", maxSplits: 2, omittingEmptySubsequences: false)
        switch halves.count {
        case 1:
            guard let bytes = groups(halves[0], last: true), bytes.count == 16 else { return nil }
            return bytes
        case 2:
            guard let head = halves[0].isEmpty ? [] : groups(halves[0], last: false),
                let tail = halves[1].isEmpty ? [] : groups(halves[1], last: true), head.count + tail.count <= 14
            else { return nil }
            return head + [UInt8](repeating: 0, count: 16 - head.count - tail.count) + tail
        default: return nil
        }
    }

    private static func groups(_ text: Substring, last: Bool) -> [UInt8]? {
        var bytes: [UInt8] = []
        let parts = text.split(separator: ":", omittingEmptySubsequences: false)
        for (index, part) in parts.enumerated() {
            if last, index == parts.count - 1, part.contains(".") {
                guard let v4 = v4(part) else { return nil }
                bytes += v4
                continue
            }
            guard (1...4).contains(part.utf8.count), part.allSatisfy({ $0.isASCII && $0.isHexDigit }),
                let group = UInt16(part, radix: 16)
            else { return nil }
            bytes += [UInt8(group >> 8), UInt8(group & 0xFF)]
        }
        return bytes.count <= 16 ? bytes : nil
    }

    static func hostClass(v4 bytes: [UInt8]) -> GatewayURL.HostClass {
        if bytes[0] == 127 { return .loopback }
        return bytes[0] == 100 && bytes[1] & 0xC0 == 64 ? .tailnet : .other
    }

    static func hostClass(v6 bytes: [UInt8]) -> GatewayURL.HostClass {
        if bytes.dropLast().allSatisfy({ $0 == 0 }) && bytes[15] == 1 { return .loopback }
        if bytes[..<10].allSatisfy({ $0 == 0 }) && bytes[10] == 0xFF && bytes[11] == 0xFF {
            return hostClass(v4: Array(bytes[12...]))
        }
        return bytes.starts(with: [0xFD, 0x7A, 0x11, 0x5C, 0xA1, 0xE0]) ? .tailnet : .other
    }
}
