import Basics

/// A domain name as a list of labels. Labels are bytes: service instance names are UTF-8 with blanks and dots (RFC 6763
/// §4.1.1).
package struct DNSName: Sendable, Hashable {
    package let labels: [[UInt8]]

    /// The limits of RFC 1035 §2.3.4.
    static let longestLabel = 63
    static let longestName = 255

    init(labels: [[UInt8]]) {
        self.labels = labels
    }

    /// Parses dotted text without escapes; a final dot is allowed. Nil when a label is empty or too long.
    package init?(_ text: some StringProtocol) {
        var bytes = Array(text.utf8)
        if bytes.last == UInt8(ascii: ".") { bytes.removeLast() }
        let parts = bytes.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false).map(Array.init)
        guard parts.allSatisfy({ (1...Self.longestLabel).contains($0.count) }),
            parts.reduce(1, { $0 + $1.count + 1 }) <= Self.longestName
        else { return nil }
        labels = parts
    }

    /// The name as `a.b.c` without the final dot; dots and backslashes inside a label are escaped (RFC 4343 §2.1).
    /// Bytes that are not UTF-8 are replaced.
    package var text: String {
        labels.map { label in
            var out: [UInt8] = []
            for byte in label {
                if byte == UInt8(ascii: ".") || byte == UInt8(ascii: "\\") { out.append(UInt8(ascii: "\\")) }
                out.append(byte)
            }
            return String(decoding: out, as: UTF8.self)
        }.joined(separator: ".")
    }

    /// True when `self` is `parent` with more labels in front.
    func isBelow(_ parent: DNSName) -> Bool {
        labels.count > parent.labels.count && DNSName(labels: Array(labels.suffix(parent.labels.count))) == parent
    }

    /// Compares without ASCII case (RFC 1035 §2.3.3).
    package static func == (left: DNSName, right: DNSName) -> Bool {
        left.folded == right.folded
    }

    package func hash(into hasher: inout Hasher) {
        hasher.combine(folded)
    }

    private var folded: [[UInt8]] {
        labels.map { label in label.map { (0x41...0x5A).contains($0) ? $0 | 0x20 : $0 } }
    }
}
