/// The head of a request from HTTP/1 or HTTP/2: method, target and fields over one buffer.
package struct RequestHead: Sendable {
    package var method: HTTPMethod
    package var version: HTTPVersion
    /// The fields; for HTTP/2 they include the authority as a `Host` field.
    package var fields: HeaderFields
    /// The start of path and query in `fields.bytes`.
    private var targetStart: UInt32 = 0
    private var pathLength: UInt16 = 0
    private var targetLength: UInt16 = 0

    /// An empty head for a parser to fill.
    package init() {
        method = .get
        version = .http11
        fields = HeaderFields()
    }

    /// Makes a head with its target; the caller adds fields with `fields.appendReceived` or `fields.append`.
    /// - Parameter target: origin-form (`/path?query`), or `*` for OPTIONS.
    package init(method: HTTPMethod, target: Span<UInt8>, version: HTTPVersion) throws(RequestTargetError) {
        self.method = method
        self.version = version
        let pathLength = try RequestTarget.checkOriginForm(target, asteriskAllowed: method == .options)
        fields = HeaderFields(reservingBytes: target.count + 256, slots: 12)
        fields.bytes.append(copying: target)
        setTarget(start: 0, pathLength: pathLength, length: target.count)
    }

    package init(method: HTTPMethod, target: String, version: HTTPVersion = .http11) throws(RequestTargetError) {
        let bytes = Array(target.utf8)
        try self.init(method: method, target: bytes.span, version: version)
    }

    /// For parsers: sets the position of path and query in `fields.bytes`.
    package mutating func setTarget(start: Int, pathLength: Int, length: Int) {
        targetStart = UInt32(truncatingIfNeeded: start)
        self.pathLength = UInt16(truncatingIfNeeded: pathLength)
        targetLength = UInt16(truncatingIfNeeded: length)
    }

    /// The range of path and query in `fields.bytes`.
    package var targetRange: Range<Int> { Int(targetStart)..<Int(targetStart) + Int(targetLength) }

    /// The raw path, still percent-encoded; `*` for the asterisk form.
    package var path: ArraySlice<UInt8> {
        let start = Int(targetStart)
        return fields.bytes[start..<start + Int(pathLength)]
    }

    /// The raw query without its question mark; nil when the target has none.
    package var query: ArraySlice<UInt8>? {
        guard targetLength > pathLength else { return nil }
        let start = Int(targetStart)
        return fields.bytes[start + Int(pathLength) + 1..<start + Int(targetLength)]
    }

    /// Path and query as sent, for logs.
    package var target: String {
        String(decoding: fields.bytes[targetRange], as: UTF8.self)
    }

    /// The decoded query items; empty when the target has no query.
    package func queryItems() throws(RequestTargetError) -> QueryItems {
        guard let query else { return QueryItems() }
        return try QueryItems(parsing: query, offset: Int(pathLength) + 1)
    }

    package mutating func removeAll(keepingCapacity: Bool) {
        method = .get
        version = .http11
        fields.removeAll(keepingCapacity: keepingCapacity)
        setTarget(start: 0, pathLength: 0, length: 0)
    }
}
