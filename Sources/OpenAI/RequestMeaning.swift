/// The digest of a conversation's turns. Each turn is hashed with the digest before it, neighbours of one role as one, and empty ones not at
/// all: a program may split an answer, or keep no place for a silent one.
package struct TurnChain: Sendable {
    private let hash: @Sendable ([UInt8]) -> [UInt8]
    /// The digest of the turns before the last one.
    private var before: [UInt8]
    private var role: OpenAIRequest.Turn.Role?
    private var words: [UInt8] = []

    /// - Parameter before: the digest of the turns so far; nil for none.
    package init(after before: [UInt8]? = nil, hash: @escaping @Sendable ([UInt8]) -> [UInt8]) {
        self.hash = hash
        self.before = before ?? hash(Array("turns".utf8))
    }

    package mutating func add(_ turn: OpenAIRequest.Turn) {
        let more = RequestMeaning.words(of: turn.text)
        guard !more.isEmpty else { return }
        if role != turn.role { (before, role, words) = (digest, turn.role, []) }
        words += more
    }

    package var digest: [UInt8] { role.map { hash(before + "\n\($0.rawValue)\n".utf8 + words) } ?? before }
}

/// The digests by which a request and its conversation are known again.
package struct RequestDigests: Sendable {
    package let content: [UInt8]
    /// The turns before the user's last messages.
    package let history: [UInt8]
    /// The turns up to each of the user's last messages but the last, as far as they are looked at.
    package private(set) var beginnings: [(count: Int, digest: [UInt8])] = []
    /// All turns.
    package let whole: [UInt8]

    /// Messages without an answer stand behind each other after stops and failures; the newest of them are the ones to know.
    private static let mostBeginnings = 4

    package init(_ request: OpenAIRequest, hash: @escaping @Sendable ([UInt8]) -> [UInt8]) {
        content = hash(RequestMeaning.content(request))
        var chain = TurnChain(hash: hash)
        for turn in request.history { chain.add(turn) }
        history = chain.digest
        let count = request.lastMessages.count
        for (place, message) in request.lastMessages.enumerated() {
            chain.add(.init(.user, message.text))
            if (max(1, count - Self.mostBeginnings)..<count).contains(place + 1) {
                beginnings.append((place + 1, chain.digest))
            }
        }
        // The words of a response may come without a list of messages.
        if request.lastMessages.isEmpty { chain.add(.init(.user, request.text)) }
        whole = chain.digest
    }
}

/// The bytes that stand for a request; their digests are compared.
package enum RequestMeaning {
    /// The words of a request, so that its repeat joins the first one.
    package static func content(_ request: OpenAIRequest) -> [UInt8] {
        var bytes = Array("request\n\(request.face.rawValue)\n\(request.model)\n".utf8)
        bytes += "\(request.userTurns) \(request.isBackground)\n\(normalized(request.text))\n".utf8
        for turn in request.history {
            bytes += "\(turn.role.rawValue) \(turn.text.utf8.count) ".utf8
            bytes += turn.text.utf8
        }
        for item in request.attachments {
            bytes += "\n\(item.type) \(item.data.utf8.count) ".utf8
            bytes += item.data.utf8
        }
        return bytes
    }

    /// The words of a turn as they count: blanks do not, because programs join and trim texts in their own ways.
    static func words(of text: String) -> [UInt8] { withoutThoughts(text).filter { !$0.isBlank } }

    /// The text without the thoughts that programs store inside it, without carriage returns and without blanks around it.
    package static func normalized(_ text: String) -> String {
        var bytes = withoutThoughts(text)
        if bytes.contains(0x0D) {
            var clean: [UInt8] = []
            for place in bytes.indices {
                if bytes[place] != 0x0D {
                    clean.append(bytes[place])
                } else if place + 1 == bytes.count || bytes[place + 1] != 0x0A {
                    clean.append(0x0A)
                }
            }
            bytes = clean
        }
        let start = bytes.firstIndex { !$0.isBlank } ?? bytes.endIndex
        let end = bytes.lastIndex { !$0.isBlank }.map { $0 + 1 } ?? start
        return String(decoding: bytes[start..<end], as: UTF8.self)
    }

    private static func withoutThoughts(_ text: String) -> [UInt8] {
        var bytes = Array(text.utf8)
        for (start, end) in [("<details type=\"reasoning\"", "</details>"), ("<think>", "</think>")] {
            bytes = removing(start, end, from: bytes)
        }
        return bytes
    }

    private static func removing(_ start: String, _ end: String, from bytes: [UInt8]) -> [UInt8] {
        guard let first = bytes.place(of: Array(start.utf8), from: 0) else { return bytes }
        var (kept, place, found): ([UInt8], Int, Int?) = ([], 0, first)
        while let begin = found, let close = bytes.place(of: Array(end.utf8), from: begin) {
            kept += bytes[place..<begin]
            place = close + end.utf8.count
            found = bytes.place(of: Array(start.utf8), from: place)
        }
        return kept + bytes[place...]
    }
}

extension [UInt8] {
    fileprivate func place(of needle: [UInt8], from start: Int) -> Int? {
        guard let first = needle.first, count - start >= needle.count else { return nil }
        var place = start
        while place + needle.count <= count {
            if self[place] == first, self[place..<place + needle.count].elementsEqual(needle) { return place }
            place += 1
        }
        return nil
    }
}

extension UInt8 {
    fileprivate var isBlank: Bool { self == 0x20 || (0x09...0x0D).contains(self) }
}
