import HTTPModel

/// Gathers a head field by field under the limits, and finds the faults the library does not look for.
struct HeadBuilder {
    enum Outcome {
        case head(RequestHead)
        case refused(HTTP2Refusal)
        /// RFC 9113 §8.1.1: a malformed request is a stream error.
        case malformed
    }

    let stream: HTTP2StreamID
    private let limits: HTTP2Limits
    private var method = HTTPMethod.get
    private var isHTTP = false
    private var authority: [UInt8] = []
    private var target: [UInt8] = []
    /// Made at the first field behind the pseudo-fields; the library sees to that order.
    private var head: RequestHead?
    private var bytes = 0
    private var fields = 0
    private var refusal: HTTP2Refusal?
    private var isMalformed = false

    init(of stream: HTTP2StreamID, limits: HTTP2Limits) {
        self.stream = stream
        self.limits = limits
    }

    /// True when there are so many decoded bytes that the connection has to end.
    mutating func add(name: Span<UInt8>, value: Span<UInt8>) -> Bool {
        let isPseudo = !name.isEmpty && name[0] == ASCII.colon
        if count(name.count + value.count, isPseudo: isPseudo) { keep(name: name, value: value, isPseudo: isPseudo) }
        return bytes > limits.headBombBytes
    }

    private mutating func keep(name: Span<UInt8>, value: Span<UInt8>, isPseudo: Bool) {
        guard isPseudo else {
            begin()
            addField(name: name, value: value)
            return
        }
        if name.equals(":method") {
            // The two usual ones without making text of them.
            method = value.equals("GET") ? .get : value.equals("POST") ? .post : HTTPMethod(Array(copying: value))
        } else if name.equals(":scheme") {
            isHTTP = value.equals("https") || value.equals("http")
        } else if name.equals(":authority") {
            authority = Array(copying: value)
        } else if name.equals(":path") {
            target = Array(copying: value)
        }
    }

    consuming func finish() -> Outcome {
        begin()
        if isMalformed { return .malformed }
        if let refusal { return .refused(refusal) }
        guard let head else { return .malformed }
        return .head(head)
    }

    /// Turns the pseudo-fields into a head. Without a scheme it is CONNECT, which has no target either.
    private mutating func begin() {
        guard head == nil, refusal == nil else { return }
        guard isHTTP else {
            refusal = .badScheme
            return
        }
        do {
            var made = try RequestHead(method: method, target: target.span, version: .http2)
            if !authority.isEmpty, !made.fields.appendReceived(name: Self.host.span, value: authority.span) {
                isMalformed = true
            }
            head = made
        } catch {
            refusal = .badTarget(error)
        }
    }

    private mutating func addField(name: Span<UInt8>, value: Span<UInt8>) {
        // RFC 9113 §8.3.1: a Host that names another origin than :authority makes the request malformed.
        if !authority.isEmpty, name.equals("host") {
            if !authority.equalsIgnoringCase(value) { isMalformed = true }
        } else if head != nil, head?.fields.appendReceived(name: name, value: value) == false {
            isMalformed = true
        }
    }

    /// False when the field must not be kept.
    private mutating func count(_ size: Int, isPseudo: Bool) -> Bool {
        // RFC 9113 §6.5.2: 32 bytes beside name and value for each line.
        bytes += size + 32
        if !isPseudo { fields += 1 }
        if refusal == nil {
            if fields > limits.headFields {
                refusal = .tooManyFields
            } else if bytes > limits.headBytes {
                refusal = .headTooLarge
            }
        }
        return refusal == nil
    }

    private static let host = Array("host".utf8)
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
        self = unsafe span.withUnsafeBufferPointer { unsafe Array($0) }
    }

    func equalsIgnoringCase(_ other: Span<UInt8>) -> Bool {
        guard count == other.count else { return false }
        for index in other.indices where ASCII.lowercased(self[index]) != ASCII.lowercased(other[index]) {
            return false
        }
        return true
    }
}
