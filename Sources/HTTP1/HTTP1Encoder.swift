package import HTTPModel

/// The end of a response's body (RFC 9112 §6.3).
package enum HTTP1BodyEnd: Sendable, Equatable {
    /// There is no body: HEAD, 204, 304, or an empty answer to an upgrade.
    case none
    case length(Int)
    case chunked
    /// The connection closes after the body: a stream to an HTTP/1.0 client.
    case close
}

/// The `Connection` field of a response.
package enum HTTP1ConnectionField: Sendable, Equatable {
    /// No field: HTTP/1.1 stays open by default.
    case implied
    case close
    /// `keep-alive`, for HTTP/1.0 clients that asked for it.
    case keepAlive
}

/// Writes response heads and chunk framing into a buffer that the caller reuses.
package enum HTTP1Encoder {
    package static let continueResponse = Array("HTTP/1.1 100 Continue\r\n\r\n".utf8)
    package static let lastChunk = Array("0\r\n\r\n".utf8)

    /// Appends the whole head with its empty line.
    ///
    /// The encoder alone writes framing fields: it leaves out `Content-Length`, `Transfer-Encoding`, `Connection` and
    /// `Date` of the given fields. A 101 is an exception; its fields are written unchanged.
    /// - Parameter bodyEnd: for HEAD, the value that GET would have; `omitsBody` then decides whether a body follows.
    /// - Parameter date: a whole line, from `HTTP1DateLine`.
    /// - Parameter common: whole lines that all answers of a server share.
    package static func appendHead(
        _ head: borrowing ResponseHead,
        bodyEnd: HTTP1BodyEnd,
        connection: HTTP1ConnectionField,
        date: borrowing HTTP1DateLine,
        common: [UInt8] = [],
        to output: inout [UInt8]
    ) {
        appendStatusLine(head.status, to: &output)
        output.append(contentsOf: date.bytes)
        output.append(contentsOf: common)
        appendFields(head, to: &output)
        if head.status != .switchingProtocols {
            switch bodyEnd {
            case .length(let length) where !head.status.forbidsContentLength && head.status != .notModified:
                output.append(contentsOf: Lines.contentLength)
                appendDecimal(max(length, 0), to: &output)
                output.append(ASCII.cr)
                output.append(ASCII.lf)
            case .chunked where !head.status.forbidsBody:
                output.append(contentsOf: Lines.chunked)
            default:
                break
            }
            switch connection {
            case .implied: break
            case .close: output.append(contentsOf: Lines.close)
            case .keepAlive: output.append(contentsOf: Lines.keepAlive)
            }
        }
        output.append(ASCII.cr)
        output.append(ASCII.lf)
    }

    /// Whether the head must not be followed by a body; the handler's body bytes are then dropped.
    package static func omitsBody(method: HTTPMethod, status: HTTPStatus) -> Bool {
        if case .head = method { true } else { status.forbidsBody }
    }

    /// The most bytes around the data of a chunk: sixteen digits and two line ends.
    package static let chunkFrameBytes = 20

    /// Appends one chunk. An empty chunk is not written, because it would end the body.
    package static func appendChunk(_ data: Span<UInt8>, to output: inout [UInt8]) {
        guard data.count > 0 else { return }
        appendChunkSize(data.count, to: &output)
        output.append(copying: data)
        output.append(ASCII.cr)
        output.append(ASCII.lf)
    }

    package static func appendChunk(_ data: [UInt8], to output: inout [UInt8]) {
        guard !data.isEmpty else { return }
        appendChunkSize(data.count, to: &output)
        output.append(contentsOf: data)
        output.append(ASCII.cr)
        output.append(ASCII.lf)
    }

    /// Appends the size line of a chunk; the caller appends the data and CR LF.
    static func appendChunkSize(_ size: Int, to output: inout [UInt8]) {
        var shift = 60
        while shift > 0, size >> shift & 15 == 0 { shift -= 4 }
        while shift >= 0 {
            let digit = UInt8(truncatingIfNeeded: size >> shift & 15)
            output.append(digit < 10 ? 0x30 + digit : 0x57 + digit)
            shift -= 4
        }
        output.append(ASCII.cr)
        output.append(ASCII.lf)
    }

    /// Takes `Int` on purpose: the compiler would not specialise a generic function of another target here.
    private static func appendDecimal(_ value: Int, to output: inout [UInt8]) {
        var divisor = 1
        while value / divisor >= 10 { divisor *= 10 }
        var rest = value
        while divisor > 0 {
            output.append(0x30 &+ UInt8(truncatingIfNeeded: rest / divisor))
            rest %= divisor
            divisor /= 10
        }
    }

    private static func appendStatusLine(_ status: HTTPStatus, to output: inout [UInt8]) {
        let index = Int(status.code) - 100
        if index < Lines.status.count {
            output.append(contentsOf: Lines.status[index])
        } else {
            output.append(contentsOf: Lines.statusLine(status))
        }
    }

    private static func appendFields(_ head: borrowing ResponseHead, to output: inout [UInt8]) {
        let fields = head.fields
        var hasFraming = false
        if head.status != .switchingProtocols {
            for slot in fields.slots where isFraming(slot.name) { hasFraming = true }
        }
        if fields.isWireFormat, !hasFraming {
            output.append(contentsOf: fields.bytes)
            return
        }
        for index in fields.indices where !hasFraming || !isFraming(fields.slots[index].name) {
            output.append(contentsOf: fields.nameBytes(at: index))
            output.append(ASCII.colon)
            output.append(ASCII.space)
            output.append(contentsOf: fields.value(at: index))
            output.append(ASCII.cr)
            output.append(ASCII.lf)
        }
    }

    private static func isFraming(_ name: FieldName) -> Bool {
        switch name {
        case .contentLength, .transferEncoding, .connection, .keepAlive, .date: true
        default: false
        }
    }

    private enum Lines {
        static let contentLength = Array("Content-Length: ".utf8)
        static let chunked = Array("Transfer-Encoding: chunked\r\n".utf8)
        static let close = Array("Connection: close\r\n".utf8)
        static let keepAlive = Array("Connection: keep-alive\r\n".utf8)
        /// The status lines of 100 to 511, encoded once.
        static let status: [[UInt8]] = (100...511).map { statusLine(HTTPStatus($0)) }

        static func statusLine(_ status: HTTPStatus) -> [UInt8] {
            Array("HTTP/1.1 \(status.code) \(status.reason)\r\n".utf8)
        }
    }
}

/// The `Date` line, rebuilt only when the second has changed.
package struct HTTP1DateLine: Sendable {
    package private(set) var bytes: [UInt8]
    private var unixSeconds: Int64

    package init(unixSeconds: Int64) {
        self.unixSeconds = unixSeconds
        bytes = Self.line(unixSeconds)
    }

    package mutating func update(unixSeconds: Int64) {
        guard unixSeconds != self.unixSeconds else { return }
        self.unixSeconds = unixSeconds
        bytes = Self.line(unixSeconds)
    }

    private static func line(_ unixSeconds: Int64) -> [UInt8] {
        Array("Date: ".utf8) + HTTPDate.bytes(unixSeconds: unixSeconds) + [ASCII.cr, ASCII.lf]
    }
}
