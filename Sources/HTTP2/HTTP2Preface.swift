/// Tells HTTP/2 with prior knowledge (RFC 9113 §3.3) from HTTP/1 by a cleartext connection's first bytes.
///
/// Nothing is taken away: the bytes go on to whichever parser is chosen.
package struct HTTP2Preface: Sendable {
    package enum Verdict: Equatable, Sendable {
        case needsMore
        case http2
        case other
    }

    package static let bytes = Array("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".utf8)

    private var matched = 0
    package private(set) var verdict = Verdict.needsMore

    package init() {}

    /// Looks at the next bytes; `other` comes with the first byte that differs.
    package mutating func receive(_ bytes: some Sequence<UInt8>) -> Verdict {
        for byte in bytes where verdict == .needsMore {
            if byte != Self.bytes[matched] {
                verdict = .other
            } else {
                matched += 1
                if matched == Self.bytes.count { verdict = .http2 }
            }
        }
        return verdict
    }
}
