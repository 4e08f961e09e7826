/// Gathers a head field by field under the limits, and finds the fault the library does not look for.
struct HeadBuilder {
    enum Outcome: Equatable {
        case head(HTTP2RequestHead)
        case refused(HTTP2Refusal)
        /// RFC 9113 §8.1.1: a malformed request is a stream error.
        case malformed
    }

    private let limits: HTTP2Limits
    private var head = HTTP2RequestHead()
    private var host: [UInt8]?
    private var bytes = 0
    private var fields = 0
    private var refusal: HTTP2Refusal?
    /// So many decoded bytes that the connection has to end.
    private(set) var isBomb = false

    init(limits: HTTP2Limits) {
        self.limits = limits
    }

    mutating func add(name: Span<UInt8>, value: Span<UInt8>) {
        let isPseudo = !name.isEmpty && name[0] == UInt8(ascii: ":")
        guard count(name.count + value.count, isPseudo: isPseudo) else { return }
        guard isPseudo else {
            if name.equals("host") {
                // A second host field is refused by the library.
                host = Array(copying: value)
            } else {
                head.fields.append(name: name, value: value)
            }
            return
        }
        if name.equals(":method") {
            head.method = Array(copying: value)
        } else if name.equals(":scheme") {
            head.scheme = Array(copying: value)
        } else if name.equals(":authority") {
            head.authority = Array(copying: value)
        } else if name.equals(":path") {
            head.path = Array(copying: value)
        }
    }

    consuming func finish() -> Outcome {
        if let refusal { return .refused(refusal) }
        if let host {
            if head.authority.isEmpty { head.authority = host }
            // RFC 9113 §8.3.1: a server should treat as malformed a Host that names another origin.
            guard head.authority.equalsIgnoringCase(host) else { return .malformed }
        }
        return .head(head)
    }

    /// False when the field must not be kept.
    private mutating func count(_ size: Int, isPseudo: Bool) -> Bool {
        // RFC 9113 §6.5.2: 32 bytes beside name and value for each line.
        bytes += size + 32
        if !isPseudo { fields += 1 }
        if bytes > limits.headBombBytes { isBomb = true }
        if refusal == nil {
            if fields > limits.headFields {
                refusal = .tooManyFields
            } else if bytes > limits.headBytes {
                refusal = .headTooLarge
            }
        }
        return refusal == nil
    }
}

extension Span<UInt8> {
    func equals(_ text: StaticString) -> Bool {
        guard count == text.utf8CodeUnitCount else { return false }
        return text.withUTF8Buffer { expected in
            for index in indices where unsafe self[index] != expected[index] { return false }
            return true
        }
    }
}

extension [UInt8] {
    init(copying span: Span<UInt8>) {
        self.init()
        append(copying: span)
    }

    mutating func append(copying span: Span<UInt8>) {
        unsafe span.withUnsafeBufferPointer { unsafe append(contentsOf: $0) }
    }

    func equalsIgnoringCase(_ other: [UInt8]) -> Bool {
        func lower(_ byte: UInt8) -> UInt8 {
            (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(byte) ? byte | 0x20 : byte
        }
        return count == other.count && zip(self, other).allSatisfy { lower($0) == lower($1) }
    }
}
