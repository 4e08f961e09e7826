/// An event as a client sees it.
struct SSEMessage: Sendable, Equatable {
    /// The last id seen up to here, which is where a client resumes; empty when there was none.
    var id: String
    /// `message` when the event named none.
    var type: String
    var data: [UInt8]

    init(id: String, type: String, data: [UInt8]) {
        self.id = id
        self.type = type
        self.data = data
    }

    var text: String { String(decoding: data, as: UTF8.self) }
}

enum SSEError: Error, Equatable, Sendable {
    case lineTooLong(limit: Int)
    case eventTooLarge(limit: Int)
}

/// Reads an event stream by the rules of the WHATWG HTML standard (9.2.6), in pieces of any size.
struct SSEDecoder: Sendable {
    /// The last valid id; survives events without one.
    private(set) var lastEventID = ""
    /// Milliseconds to wait before reconnecting, once the stream has said so.
    private(set) var retry: Int?

    private let maxEventBytes: Int
    private var line: [UInt8] = []
    private var data: [UInt8] = []
    private var type = ""
    /// An id takes effect when its block ends, and not at all when the stream breaks off before that.
    private var pendingID = ""
    private var hasData = false
    private var sawCR = false
    /// Bytes of the byte order mark matched so far; nil when it can come no more.
    private var markLength: Int? = 0
    private var failure: SSEError?

    private static let mark: [UInt8] = [0xEF, 0xBB, 0xBF]

    /// - Parameter maxEventBytes: bounds a line and the data of an event; our own server sends at most an eighth.
    init(maxEventBytes: Int = 1_048_576, lastEventID: String = "") {
        self.maxEventBytes = maxEventBytes
        self.lastEventID = lastEventID
        pendingID = lastEventID
    }

    /// The next event, moving `offset` past what was taken; nil when all of the input was taken.
    mutating func next(in input: Span<UInt8>, from offset: inout Int) throws(SSEError) -> SSEMessage? {
        if let failure { throw failure }
        while offset < input.count {
            let byte = input[offset]
            offset += 1
            if let matched = markLength {
                if byte == Self.mark[matched] {
                    markLength = matched == 2 ? nil : matched + 1
                    continue
                }
                // Not a byte order mark after all, so the matched bytes are text.
                markLength = nil
                line.append(contentsOf: Self.mark.prefix(matched))
            }
            if sawCR {
                sawCR = false
                if byte == 0x0A { continue }
            }
            guard byte == 0x0A || byte == 0x0D else {
                guard line.count < maxEventBytes else { throw fail(.lineTooLong(limit: maxEventBytes)) }
                line.append(byte)
                continue
            }
            sawCR = byte == 0x0D
            if let message = try endLine() { return message }
        }
        return nil
    }

    private mutating func endLine() throws(SSEError) -> SSEMessage? {
        defer { line.removeAll(keepingCapacity: true) }
        if line.isEmpty { return dispatch() }
        guard let colon = line.firstIndex(of: 0x3A) else {
            try takeField(line[...], value: [])
            return nil
        }
        // A comment.
        if colon == 0 { return nil }
        var value = line[(colon + 1)...]
        if value.first == 0x20 { value = value.dropFirst() }
        try takeField(line[..<colon], value: value)
        return nil
    }

    private mutating func takeField(_ name: ArraySlice<UInt8>, value: ArraySlice<UInt8>) throws(SSEError) {
        if name.elementsEqual("data".utf8) {
            guard data.count + value.count < maxEventBytes else { throw fail(.eventTooLarge(limit: maxEventBytes)) }
            data.append(contentsOf: value)
            data.append(0x0A)
            hasData = true
        } else if name.elementsEqual("event".utf8) {
            type = String(decoding: value, as: UTF8.self)
        } else if name.elementsEqual("id".utf8) {
            if !value.contains(0) { pendingID = String(decoding: value, as: UTF8.self) }
        } else if name.elementsEqual("retry".utf8) {
            if !value.isEmpty, value.count <= 9, value.allSatisfy({ $0 &- 0x30 < 10 }) {
                retry = Int(String(decoding: value, as: UTF8.self))
            }
        }
    }

    private mutating func dispatch() -> SSEMessage? {
        lastEventID = pendingID
        defer {
            data = []
            type = ""
            hasData = false
        }
        guard hasData else { return nil }
        data.removeLast()
        return SSEMessage(id: lastEventID, type: type.isEmpty ? "message" : type, data: data)
    }

    private mutating func fail(_ error: SSEError) -> SSEError {
        failure = error
        line = []
        data = []
        return error
    }
}
