import HTTPModel

/// The facts that a request's fields state about its body and its connection (RFC 9112 §6 and §9.3).
package struct RequestFraming: Sendable, Equatable {
    package enum Body: Sendable, Equatable {
        case none
        case length(Int)
        case chunked
    }

    package var body = Body.none
    /// The client wants to keep the connection after this exchange.
    package var keepAlive = true
    /// The client waits for `100 Continue` before it sends its body.
    package var expectsContinue = false

    package init() {}

    /// Checks every field that framing, routing or the connection depends on.
    /// - Parameter authority: the authority of an absolute-form target.
    init(checking head: borrowing RequestHead, authority: Range<Int>?) throws(HTTP1ParseError) {
        let bytes = head.fields.bytes.span
        var host: Range<Int>?
        var length: Range<Int>?
        var coding: Range<Int>?
        var expectation: Range<Int>?
        var hasConnection = false
        keepAlive = head.version == .http11
        let slots = head.fields.slots.span
        for index in slots.indices {
            let slot = slots[index]
            switch slot.name {
            case .host:
                guard host == nil else { throw .repeatedHost }
                host = slot.valueRange
            case .contentLength:
                guard length == nil else { throw .repeatedContentLength }
                length = slot.valueRange
            case .transferEncoding:
                guard coding == nil else { throw .badTransferEncoding }
                coding = slot.valueRange
            case .expect:
                guard expectation == nil else { throw .unmetExpectation }
                expectation = slot.valueRange
            case .connection:
                hasConnection = true
            // `Upgrade` is only an offer, and a server may go on in HTTP/1.1 (RFC 9110 §7.8): curl and Java's client offer h2c.
            default:
                continue
            }
        }
        try checkHost(bytes, host, authority, version: head.version)
        try checkBody(bytes, length: length, coding: coding, version: head.version)
        if hasConnection {
            if head.fields.has(.connection, token: "close") {
                keepAlive = false
            } else if !keepAlive {
                keepAlive = head.fields.has(.connection, token: "keep-alive")
            }
        }
        if let expectation, head.version == .http11 {
            guard ASCII.equalIgnoringCase(head.fields.bytes[expectation], "100-continue".utf8) else {
                throw .unmetExpectation
            }
            expectsContinue = body != .none
        }
    }

    private func checkHost(
        _ bytes: Span<UInt8>,
        _ host: Range<Int>?,
        _ authority: Range<Int>?,
        version: HTTPVersion
    ) throws(HTTP1ParseError) {
        guard let host else {
            if version == .http11 { throw .missingHost }
            return
        }
        guard HostPort.isValid(bytes.extracting(host)) else { throw .badHost }
        guard let authority else { return }
        guard authority.count == host.count else { throw .hostDisagrees }
        for index in 0..<host.count
        where ASCII.lowercased(bytes[host.lowerBound + index]) != ASCII.lowercased(bytes[authority.lowerBound + index])
        {
            throw .hostDisagrees
        }
    }

    private mutating func checkBody(
        _ bytes: Span<UInt8>,
        length: Range<Int>?,
        coding: Range<Int>?,
        version: HTTPVersion
    ) throws(HTTP1ParseError) {
        if let coding {
            guard version == .http11 else { throw .transferEncodingInHTTP10 }
            guard length == nil else { throw .lengthAndTransferEncoding }
            try TransferCoding.check(bytes.extracting(coding))
            body = .chunked
        } else if let length {
            let count = try ContentLength.parse(bytes.extracting(length))
            body = count == 0 ? .none : .length(count)
        }
    }
}

/// The value of `Transfer-Encoding`; `chunked` is the only coding supported.
enum TransferCoding {
    /// Returns normally when the value is exactly `chunked`, in any case; throws otherwise.
    static func check(_ value: Span<UInt8>) throws(HTTP1ParseError) {
        let chunked: [UInt8] = Array("chunked".utf8)
        if value.count == chunked.count {
            var index = 0
            while index < chunked.count, ASCII.lowercased(value[index]) == chunked[index] { index += 1 }
            if index == chunked.count { return }
        }
        // Any other single token is an unsupported coding (501); everything else is a malformed or disguised list
        // (400).
        guard value.count > 0 else { throw .badTransferEncoding }
        for index in value.indices where !ASCII.isToken(value[index]) { throw .badTransferEncoding }
        throw .unknownTransferCoding
    }
}

enum ContentLength {
    /// Parses a plain decimal number without sign, blanks or leading zeros, at most 2^63 - 1.
    static func parse(_ value: Span<UInt8>) throws(HTTP1ParseError) -> Int {
        guard (1...19).contains(value.count), value.count == 1 || value[0] != 0x30 else { throw .badContentLength }
        var length: UInt64 = 0
        for index in value.indices {
            guard ASCII.isDigit(value[index]) else { throw .badContentLength }
            length = length * 10 + UInt64(value[index] - 0x30)
        }
        guard length <= UInt64(Int.max) else { throw .badContentLength }
        return Int(length)
    }
}
