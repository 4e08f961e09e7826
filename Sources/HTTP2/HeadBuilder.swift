import HTTPModel

/// Gathers a head field by field under the limits, and finds faults that the library does not check. One builder serves
/// all heads of a connection: a GET with exactly the last one's fields reuses the last head and builds nothing.
struct HeadBuilder {
    enum Outcome {
        case head(RequestHead)
        case refused(HTTP2Refusal)
        /// The request is malformed: a stream error (RFC 9113 §8.1.1).
        case malformed
    }

    enum Step {
        case taken
        /// The head has so many decoded bytes that the connection must end.
        case bomb
        /// The field belongs to a stream whose head is complete: it is a trailer.
        case trailer
    }

    /// The part of the last head that the arriving head has repeated so far; nil once they differ.
    private struct Repetition {
        var method = false
        var scheme = false
        var authority = false
        var path = false
        /// The index of the next field after the pseudo-fields.
        var slot: Int
    }

    private let limits: HTTP2Limits
    /// The stream of the head being built; 0 between heads.
    private var stream: HTTP2StreamID = 0
    private var method = HTTPMethod.get
    private var isHTTP = false
    private var authority: [UInt8] = []
    private var target: [UInt8] = []
    /// Made at the first field after the pseudo-fields; the library enforces that order.
    private var head: RequestHead?
    private var bytes = 0
    private var fields = 0
    private var refusal: HTTP2Refusal?
    private var isMalformed = false

    /// The last GET; valid only while `hasLast` is set.
    private var last = RequestHead()
    private var hasLast = false
    /// The first field of `last` holds its `:authority`.
    private var lastHasAuthority = false
    private var repetition: Repetition?

    init(limits: HTTP2Limits) {
        self.limits = limits
    }

    mutating func begin(_ stream: HTTP2StreamID) {
        self.stream = stream
        method = .get
        isHTTP = false
        authority.removeAll(keepingCapacity: true)
        target.removeAll(keepingCapacity: true)
        head = nil
        bytes = 0
        fields = 0
        refusal = nil
        isMalformed = false
        repetition = hasLast ? Repetition(slot: lastHasAuthority ? 1 : 0) : nil
    }

    mutating func add(_ stream: HTTP2StreamID, name: Span<UInt8>, value: Span<UInt8>) -> Step {
        guard stream == self.stream else { return .trailer }
        let isPseudo = !name.isEmpty && name[0] == ASCII.colon
        if count(name.count + value.count, isPseudo: isPseudo) {
            if repetition == nil {
                keep(name: name, value: value, isPseudo: isPseudo)
            } else if !repeats(name: name, value: value, isPseudo: isPseudo) {
                replay()
                keep(name: name, value: value, isPseudo: isPseudo)
            }
        }
        return bytes > limits.headBombBytes ? .bomb : .taken
    }

    /// Ends the head; nil when the head belongs to another stream.
    mutating func finish(_ stream: HTTP2StreamID) -> Outcome? {
        guard stream == self.stream else { return nil }
        self.stream = 0
        if refusal == nil, let repetition {
            // Written out here, because a method call would copy the whole builder.
            let isWhole =
                repetition.method && repetition.scheme && repetition.path && repetition.authority == lastHasAuthority
                && repetition.slot == last.fields.count
            if isWhole { return .head(last) }
            replay()
        }
        makeHead()
        if isMalformed { return .malformed }
        if let refusal { return .refused(refusal) }
        guard let head else { return .malformed }
        if case .get = method {
            last = head
            hasLast = true
            lastHasAuthority = !authority.isEmpty
        }
        return .head(head)
    }

    private mutating func keep(name: Span<UInt8>, value: Span<UInt8>, isPseudo: Bool) {
        guard isPseudo else {
            makeHead()
            addField(name: name, value: value)
            return
        }
        if name.equals(":method") {
            // GET and POST are recognized without making a string.
            method = value.equals("GET") ? .get : value.equals("POST") ? .post : HTTPMethod(Array(copying: value))
        } else if name.equals(":scheme") {
            isHTTP = value.equals("https") || value.equals("http")
        } else if name.equals(":authority") {
            authority.append(copying: value)
        } else if name.equals(":path") {
            target.append(copying: value)
        }
    }

    /// Turns the pseudo-fields into a head. A request without a scheme is CONNECT, which has no target either.
    private mutating func makeHead() {
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

    /// Counts a field against the limits; false when the field must not be kept.
    private mutating func count(_ size: Int, isPseudo: Bool) -> Bool {
        // RFC 9113 §6.5.2: each line counts 32 bytes beside its name and value.
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

    // MARK: Repeating the last head

    /// Whether this field has the same place in the last head. The code calls no method on `last`, because such a call
    /// would copy the whole builder.
    private mutating func repeats(name: Span<UInt8>, value: Span<UInt8>, isPseudo: Bool) -> Bool {
        guard isPseudo else {
            guard let place = repetition?.slot, place < last.fields.count else { return false }
            let slot = last.fields.slots[place]
            guard value.isSame(as: last.fields.bytes.span.extracting(slot.valueRange)),
                name.isSame(as: last.fields.bytes.span.extracting(slot.nameRange))
            else { return false }
            repetition?.slot = place + 1
            return true
        }
        // The length tells the pseudo-fields apart.
        switch name.count {
        case 5 where value.isSame(as: last.fields.bytes.span.extracting(last.targetRange)):
            repetition?.path = true
        case 7 where name.equals(":method") ? value.equals("GET") : value.equals("https") || value.equals("http"):
            if name.equals(":method") { repetition?.method = true } else { repetition?.scheme = true }
        case 10 where lastHasAuthority:
            let range = last.fields.slots[0].valueRange
            guard value.isSame(as: last.fields.bytes.span.extracting(range)) else { return false }
            repetition?.authority = true
        default: return false
        }
        return true
    }

    /// The new head differs after all: adds the fields it repeated so far, as if each had been kept on arrival.
    private mutating func replay() {
        guard let same = repetition else { return }
        repetition = nil
        isHTTP = same.scheme
        let fields = last.fields
        let bytes = fields.bytes.span
        if same.path { target.append(copying: bytes.extracting(last.targetRange)) }
        if same.authority { authority.append(copying: bytes.extracting(fields.slots[0].valueRange)) }
        let first = lastHasAuthority ? 1 : 0
        guard same.slot > first else { return }
        makeHead()
        for slot in fields.slots[first..<same.slot] {
            addField(name: bytes.extracting(slot.nameRange), value: bytes.extracting(slot.valueRange))
        }
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

    /// Compares eight bytes at a time.
    func isSame(as other: Span<UInt8>) -> Bool {
        guard count == other.count else { return false }
        guard count >= 8 else {
            for index in indices where self[index] != other[index] { return false }
            return true
        }
        var offset = 0
        while loadWord(self, at: offset) == loadWord(other, at: offset) {
            if offset == count - 8 { return true }
            offset = Swift.min(offset + 8, count - 8)
        }
        return false
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
