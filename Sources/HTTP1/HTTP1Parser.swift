package import HTTPModel

/// Server side: parses requests out of a byte stream.
///
/// Call `next` until it returns `needMore`, each time at the offset where it stopped. The caller keeps the bytes that
/// the parser has not taken. After `end` the parser takes nothing until `startNext`, so a pipelined request waits until
/// the one before it is answered. After a refusal the parser takes nothing more.
///
/// Between requests a parser holds no memory of its own, unless the caller asks `startNext` to keep the head. A client
/// that repeats a request then sends the same head again, and one comparison recognizes it (`repeatsLast`).
package struct HTTP1Parser: ~Copyable, Sendable {
    package enum Event: Sendable, Equatable {
        /// All input was taken, and more bytes are needed.
        case needMore
        /// The head is complete: `head` and `framing` are set.
        case head
        /// A part of the body, as a range of the input.
        case body(Range<Int>)
        /// The request is complete.
        case end
    }

    private enum State: Sendable {
        case head
        /// The state between `head` and the first body byte, in which the caller can set the route's body limit.
        case beforeBody
        case length(remaining: Int)
        case chunked(HTTP1ChunkedDecoder)
        case ended
        case refused(HTTP1ParseError)
    }

    package private(set) var head = RequestHead()
    package private(set) var framing = RequestFraming()
    /// `head` equals the previous request's head byte for byte.
    package private(set) var repeatsLast = false
    /// The limit for the body of the current request; `startNext` restores the default.
    package var bodyLimit: Int
    private let limits: HTTP1Limits
    private var state = State.head
    private var scanner = HeadScanner()
    private var hasStartLine = false
    private var skippedEmptyLine = false
    private var authority: Range<UInt32>?
    /// `head` and `framing` belong to a request that is over.
    private var isHeadPast = false

    package init(limits: HTTP1Limits = .server) {
        self.limits = limits
        bodyLimit = limits.body
    }

    /// No byte of a request has arrived: the connection is idle, not slow.
    package var isIdle: Bool {
        if case .head = state { isHeadPast || head.fields.bytes.isEmpty } else { false }
    }

    package var isEnded: Bool {
        if case .ended = state { true } else { false }
    }

    /// The refusal, if the parser has refused a request.
    package var refusal: HTTP1ParseError? {
        if case .refused(let error) = state { error } else { nil }
    }

    package mutating func next(in input: Span<UInt8>, from offset: inout Int) throws(HTTP1ParseError) -> Event {
        do throws(HTTP1ParseError) {
            switch state {
            case .head:
                return try takeHead(input, &offset)
            case .beforeBody:
                try enterBody()
                return try next(in: input, from: &offset)
            case .length(let remaining):
                guard offset < input.count else { return .needMore }
                let count = min(remaining, input.count - offset)
                let range = offset..<offset + count
                offset += count
                state = count == remaining ? .ended : .length(remaining: remaining - count)
                return .body(range)
            case .chunked(var decoder):
                switch try decoder.next(in: input, from: &offset, bodyLimit: bodyLimit, limits: limits) {
                case .needMore:
                    state = .chunked(decoder)
                    return .needMore
                case .data(let range):
                    state = .chunked(decoder)
                    return .body(range)
                case .end:
                    state = .ended
                    return .end
                }
            case .ended:
                return .end
            case .refused(let error):
                throw error
            }
        } catch {
            refuse(error)
            throw error
        }
    }

    /// Records that the peer will send nothing more. Throws `endedEarly` in the middle of a request.
    package mutating func receiveEnd() throws(HTTP1ParseError) {
        if isIdle || isEnded { return }
        if case .refused(let error) = state { throw error }
        refuse(.endedEarly)
        throw .endedEarly
    }

    /// Prepares for the next request. It has no effect before `end` and after a refusal.
    /// - Parameter keepingHead: true for a busy connection; an idle one releases the memory.
    package mutating func startNext(keepingHead: Bool) {
        guard case .ended = state else { return }
        state = .head
        bodyLimit = limits.body
        if keepingHead, framing.body == .none, !head.fields.bytes.isEmpty {
            isHeadPast = true
        } else {
            clearHead(keepingCapacity: keepingHead)
        }
    }

    /// Releases the head's storage while the answer goes on, because a subscriber's stream can last for days.
    package mutating func releaseHead() {
        if case .head = state { return }
        head.removeAll(keepingCapacity: false)
    }

    // MARK: Head

    private mutating func takeHead(_ input: Span<UInt8>, _ offset: inout Int) throws(HTTP1ParseError) -> Event {
        guard offset < input.count else { return .needMore }
        if isHeadPast {
            isHeadPast = false
            if isLastHead(input, at: offset) {
                offset += head.fields.bytes.count
                repeatsLast = true
                state = .beforeBody
                return .head
            }
            clearHead(keepingCapacity: true)
        }
        let known = head.fields.bytes.count
        if known == 0 {
            let rest = input.extracting(offset..<input.count)
            if let end = try scan(rest) {
                head.fields.bytes.append(copying: rest.extracting(0..<end))
                offset += end
                return try finishHead()
            }
            offset = input.count
            if scanner.lineStart == rest.count, !hasStartLine {
                dropEmptyLine()
            } else {
                head.fields.bytes.append(copying: rest)
            }
            return .needMore
        }
        // Bytes beyond the limits are never examined, so they are not kept either.
        let most = limits.requestLine + limits.fieldBlock + 8 - known
        let piece = input.extracting(offset..<min(input.count, offset + max(most, 1)))
        head.fields.bytes.append(copying: piece)
        // The scan reads the bytes while it fills the slots of the same value, so the bytes are moved out meanwhile.
        var bytes: [UInt8] = []
        swap(&bytes, &head.fields.bytes)
        let end = try scan(bytes.span)
        swap(&bytes, &head.fields.bytes)
        guard let end else {
            offset += piece.count
            if scanner.lineStart == head.fields.bytes.count, !hasStartLine { dropEmptyLine() }
            return .needMore
        }
        head.fields.bytes.removeLast(head.fields.bytes.count - end)
        offset += end - known
        return try finishHead()
    }

    /// Whether the input begins with the last head. That head was valid, so the same bytes are valid and end at the
    /// same place.
    private func isLastHead(_ input: Span<UInt8>, at offset: Int) -> Bool {
        HeadScanner.isEqual(head.fields.bytes.span, to: input, at: offset)
    }

    private mutating func scan(_ bytes: Span<UInt8>) throws(HTTP1ParseError) -> Int? {
        while !hasStartLine {
            guard let end = try scanner.startLine(bytes, limit: limits.requestLine) else { return nil }
            if end == scanner.lineStart {
                // Some old clients send one empty line after a body (RFC 9112 §2.2).
                guard !skippedEmptyLine else { throw .badRequestLine }
                skippedEmptyLine = true
            } else {
                let range = try RequestLine.parse(bytes, start: scanner.lineStart, end: end, into: &head)
                authority = range.map { UInt32($0.lowerBound)..<UInt32($0.upperBound) }
                hasStartLine = true
            }
            scanner.advance(pastLineEnd: end)
        }
        return try scanner.fields(bytes, into: &head.fields, limits: limits, table: .shared)
    }

    private mutating func finishHead() throws(HTTP1ParseError) -> Event {
        let authority = authority.map { Int($0.lowerBound)..<Int($0.upperBound) }
        framing = try RequestFraming(checking: head, authority: authority)
        state = .beforeBody
        return .head
    }

    private mutating func enterBody() throws(HTTP1ParseError) {
        switch framing.body {
        case .none:
            state = .ended
        case .length(let length):
            guard length <= bodyLimit else { throw .bodyTooLarge(limit: bodyLimit) }
            state = .length(remaining: length)
        case .chunked:
            state = .chunked(HTTP1ChunkedDecoder())
        }
    }

    /// A single empty line does not begin a request: the connection stays idle.
    private mutating func dropEmptyLine() {
        head.removeAll(keepingCapacity: false)
        scanner = HeadScanner()
    }

    private mutating func clearHead(keepingCapacity: Bool) {
        isHeadPast = false
        repeatsLast = false
        head.removeAll(keepingCapacity: keepingCapacity)
        framing = RequestFraming()
        bodyLimit = limits.body
        scanner = HeadScanner()
        hasStartLine = false
        skippedEmptyLine = false
        authority = nil
    }

    private mutating func refuse(_ error: HTTP1ParseError) {
        clearHead(keepingCapacity: false)
        state = .refused(error)
    }
}
