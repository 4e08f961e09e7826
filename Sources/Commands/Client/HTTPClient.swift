import HTTP1
import HTTPModel

/// Blocking HTTP/1.1 with a new connection for each request, because the program ends right after.
struct HTTPClient {
    private let place: ServerPlace
    private let io: any CommandIO
    private let version: String
    /// A stream has no length, so the body has no limit.
    private static let limits = HTTP1Limits(fieldBlock: 65_000, fieldCount: 256, body: .max)
    /// The largest answer that is read into memory.
    private static let maximumBody = 64 << 20

    init(_ place: ServerPlace, io: any CommandIO, version: String) {
        self.place = place
        self.io = io
        self.version = version
    }

    func perform(_ request: ClientRequest) throws(ClientError) -> ClientResponse {
        var body: [UInt8] = []
        var isTooLong = false
        let head = try exchange(request, idleMilliseconds: request.patienceMilliseconds) { _, bytes in
            body += bytes
            isTooLong = body.count > Self.maximumBody
            return !isTooLong
        }
        guard !isTooLong else { throw .badAnswer("longer than \(Self.maximumBody) bytes") }
        return ClientResponse(head: head, body: body)
    }

    /// Passes each line of an endless answer to `take` until it returns false or the stream ends. An answer that is not
    /// a stream is returned whole.
    func lines(
        _ request: ClientRequest,
        idleMilliseconds: Int?,
        take: ([UInt8]) -> Bool
    ) throws(ClientError) -> ClientResponse? {
        var whole: [UInt8] = []
        var line: [UInt8] = []
        let head = try exchange(request, idleMilliseconds: idleMilliseconds) { head, bytes in
            guard Self.isStream(head) else {
                whole += bytes
                return whole.count <= Self.maximumBody
            }
            for byte in bytes {
                guard byte == 0x0A else {
                    line.append(byte)
                    continue
                }
                let goesOn = line.isEmpty || take(line)
                line.removeAll(keepingCapacity: true)
                if !goesOn { return false }
            }
            return line.count <= Self.maximumBody
        }
        return Self.isStream(head) ? nil : ClientResponse(head: head, body: whole)
    }

    private static func isStream(_ head: ResponseHead) -> Bool {
        guard head.status == .ok, let type = head.fields.string(for: .contentType) else { return false }
        return type.hasPrefix("application/x-ndjson") || type.hasPrefix("text/event-stream")
    }

    private func exchange(
        _ request: ClientRequest,
        idleMilliseconds: Int?,
        take: (ResponseHead, ArraySlice<UInt8>) -> Bool
    ) throws(ClientError) -> ResponseHead {
        let channel = try io.connect(to: place)
        try channel.send(try encoded(request) + request.body)
        var parser = HTTP1ResponseParser(requestMethod: request.method, limits: Self.limits)
        var input: [UInt8] = []
        var offset = 0
        var hasHead = false
        while true {
            let event: HTTP1ResponseParser.Event
            do throws(HTTP1ParseError) {
                event = try parser.next(in: input.span, from: &offset)
            } catch {
                throw .badAnswer("\(error)")
            }
            switch event {
            case .head: hasHead = true
            case .body(let range): if !take(parser.head, input[range]) { return parser.head }
            case .end: return parser.head
            case .needMore:
                input = try channel.receive(milliseconds: hasHead ? idleMilliseconds : request.patienceMilliseconds)
                offset = 0
                guard input.isEmpty else { continue }
                guard let isComplete = try? parser.receiveEnd(), isComplete else { throw .closed }
                return parser.head
            }
        }
    }

    private func encoded(_ request: ClientRequest) throws(ClientError) -> [UInt8] {
        let head: RequestHead
        do throws(RequestTargetError) {
            var made = try RequestHead(method: request.method, target: place.address.path + request.target)
            made.fields.append(.accept, request.accept)
            made.fields.append(.userAgent, "ladle/\(version)")
            made.fields.append(.connection, "close")
            if let token = place.token { made.fields.append(.authorization, "Bearer \(token)") }
            if let type = request.contentType { made.fields.append(.contentType, type) }
            for (name, value) in request.fields { made.fields.append(name, value) }
            head = made
        } catch {
            throw .badAnswer("the request cannot be written: \(error)")
        }
        var bytes: [UInt8] = []
        let needsLength = request.method != .get && request.method != .head
        HTTP1RequestEncoder.appendHead(
            head,
            host: place.address.host,
            body: needsLength ? .length(request.body.count) : .none,
            to: &bytes
        )
        return bytes
    }
}
