package import HTTPModel

/// Client side: parses one response out of a byte stream and skips informational ones. Start a new parser for the next
/// response.
///
/// The parser is as strict as the server's: our peers are the gateway, tailscaled and Ladle itself.
package struct HTTP1ResponseParser: Sendable {
    package enum Event: Sendable, Equatable {
        case needMore
        /// `head` is complete. After a 101 `end` comes next, and the bytes that follow belong to the new protocol.
        case head
        case body(Range<Int>)
        case end
    }

    private enum State: Sendable {
        case head
        case length(remaining: Int)
        case chunked(HTTP1ChunkedDecoder)
        case untilClose(taken: Int)
        case ended
        case refused(HTTP1ParseError)
    }

    package private(set) var head = ResponseHead(.ok)
    /// The connection can carry another request after this response.
    package private(set) var keepAlive = true
    private let requestMethod: HTTPMethod
    private let limits: HTTP1Limits
    private var state = State.head
    private var scanner = HeadScanner()
    private var hasStatusLine = false
    private var informationalCount = 0

    /// A server that sends more interim responses than this is assumed never to answer.
    static let maxInformational = 16

    package init(requestMethod: HTTPMethod, limits: HTTP1Limits = .client) {
        self.requestMethod = requestMethod
        self.limits = limits
    }

    package var isEnded: Bool {
        if case .ended = state { true } else { false }
    }

    package mutating func next(in input: Span<UInt8>, from offset: inout Int) throws(HTTP1ParseError) -> Event {
        do throws(HTTP1ParseError) {
            switch state {
            case .head:
                while offset < input.count {
                    guard try takeHead(input, &offset) else { continue }
                    if head.status.isInformational, head.status != .switchingProtocols {
                        informationalCount += 1
                        guard informationalCount <= Self.maxInformational else { throw .badStatusLine }
                        clearHead()
                        continue
                    }
                    state = try bodyState()
                    return .head
                }
                return .needMore
            case .length(let remaining):
                guard offset < input.count else { return .needMore }
                let count = min(remaining, input.count - offset)
                defer { offset += count }
                state = count == remaining ? .ended : .length(remaining: remaining - count)
                return .body(offset..<offset + count)
            case .chunked(var decoder):
                let event = try decoder.next(in: input, from: &offset, bodyLimit: limits.body, limits: limits)
                state = event == .end ? .ended : .chunked(decoder)
                switch event {
                case .needMore: return .needMore
                case .data(let range): return .body(range)
                case .end: return .end
                }
            case .untilClose(let taken):
                guard offset < input.count else { return .needMore }
                // The part that fits is given first, so that the same bytes mean the same however the network cuts them.
                let count = min(limits.body - taken, input.count - offset)
                guard count > 0 else { throw .bodyTooLarge(limit: limits.body) }
                defer { offset += count }
                state = .untilClose(taken: taken + count)
                return .body(offset..<offset + count)
            case .ended:
                return .end
            case .refused(let error):
                throw error
            }
        } catch {
            state = .refused(error)
            throw error
        }
    }

    /// Records that the peer closed. True when closing completes the response.
    package mutating func receiveEnd() throws(HTTP1ParseError) -> Bool {
        switch state {
        case .ended: return true
        case .untilClose:
            state = .ended
            return true
        case .refused(let error): throw error
        default:
            state = .refused(.endedEarly)
            throw .endedEarly
        }
    }

    // MARK: Head

    /// True when the head is complete; false when all input was taken and more is needed.
    private mutating func takeHead(_ input: Span<UInt8>, _ offset: inout Int) throws(HTTP1ParseError) -> Bool {
        let known = head.fields.bytes.count
        let most = limits.requestLine + limits.fieldBlock + 8 - known
        let piece = input.extracting(offset..<min(input.count, offset + max(most, 1)))
        var bytes: [UInt8] = []
        swap(&bytes, &head.fields.bytes)
        bytes.append(copying: piece)
        let end = try scan(bytes.span)
        swap(&bytes, &head.fields.bytes)
        guard let end else {
            offset += piece.count
            return false
        }
        head.fields.bytes.removeLast(head.fields.bytes.count - end)
        offset += end - known
        return true
    }

    private mutating func scan(_ bytes: Span<UInt8>) throws(HTTP1ParseError) -> Int? {
        if !hasStatusLine {
            guard let end = try scanner.startLine(bytes, limit: limits.requestLine) else { return nil }
            try takeStatusLine(bytes, start: scanner.lineStart, end: end)
            scanner.advance(pastLineEnd: end)
            hasStatusLine = true
        }
        return try scanner.fields(bytes, into: &head.fields, limits: limits, table: .shared)
    }

    /// Parses a line such as `HTTP/1.1 200 OK`; the blank before an empty reason may be missing.
    private mutating func takeStatusLine(
        _ bytes: Span<UInt8>,
        start: Int,
        end: Int
    ) throws(HTTP1ParseError) {
        guard end - start >= 12 else { throw .badStatusLine }
        switch loadWord(bytes, at: start) {
        case 0x312E_312F_5054_5448: head.version = .http11
        case 0x302E_312F_5054_5448: head.version = .http10
        default: throw .badStatusLine
        }
        guard bytes[start + 8] == ASCII.space, end == start + 12 || bytes[start + 12] == ASCII.space else {
            throw .badStatusLine
        }
        var code = 0
        for index in start + 9..<start + 12 {
            guard ASCII.isDigit(bytes[index]) else { throw .badStatusLine }
            code = code * 10 + Int(bytes[index] - 0x30)
        }
        guard code >= 100 else { throw .badStatusLine }
        head.status = HTTPStatus(code)
    }

    private mutating func bodyState() throws(HTTP1ParseError) -> State {
        let fields = head.fields
        keepAlive =
            head.version == .http11
            ? !fields.has(.connection, token: "close") : fields.has(.connection, token: "keep-alive")
        guard fields.count(of: .contentLength) <= 1 else { throw .repeatedContentLength }
        guard fields.count(of: .transferEncoding) <= 1 else { throw .badTransferEncoding }
        var length: Int?
        if let value = fields[.contentLength] { length = try ContentLength.parse(value.span) }
        if let coding = fields[.transferEncoding] {
            guard length == nil else { throw .lengthAndTransferEncoding }
            guard head.version == .http11 else { throw .transferEncodingInHTTP10 }
            try TransferCoding.check(coding.span)
            if !HTTP1Encoder.omitsBody(method: requestMethod, status: head.status) {
                return .chunked(HTTP1ChunkedDecoder())
            }
        }
        if HTTP1Encoder.omitsBody(method: requestMethod, status: head.status) { return .ended }
        if let length {
            guard length <= limits.body else { throw .bodyTooLarge(limit: limits.body) }
            return length == 0 ? .ended : .length(remaining: length)
        }
        keepAlive = false
        return .untilClose(taken: 0)
    }

    private mutating func clearHead() {
        head = ResponseHead(.ok)
        scanner = HeadScanner()
        hasStatusLine = false
    }
}
