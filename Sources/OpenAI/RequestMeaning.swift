/// The bytes that stand for a request or for a conversation; their digests are compared.
package enum RequestMeaning {
    /// The beginning of the chain of digests that stands for a conversation. Each turn is hashed with the digest before it.
    package static func conversation(agent: String, caller: String) -> [UInt8] {
        Array("turns\n\(caller)\n\(agent)".utf8)
    }

    /// The next link of the chain. Blanks do not count, because programs join and trim texts in their own ways.
    package static func turn(_ turn: OpenAIRequest.Turn, after digest: [UInt8]) -> [UInt8] {
        digest + "\n\(turn.role.rawValue)\n".utf8 + normalized(turn.text).utf8.filter { !$0.isBlank }
    }

    /// The turns with neighbours of one role joined and without empty ones: a program may split an answer, or keep no place for a silent one.
    package static func merged(_ turns: [OpenAIRequest.Turn]) -> [OpenAIRequest.Turn] {
        var merged: [OpenAIRequest.Turn] = []
        for turn in turns where normalized(turn.text).utf8.contains(where: { !$0.isBlank }) {
            if let last = merged.last, last.role == turn.role {
                merged[merged.count - 1] = OpenAIRequest.Turn(turn.role, "\(last.text)\n\(turn.text)")
            } else {
                merged.append(turn)
            }
        }
        return merged
    }

    /// A request, so that its repeat joins the first one.
    package static func request(
        _ request: OpenAIRequest,
        choice: SessionChoice,
        agent: String?,
        caller: String
    ) -> [UInt8] {
        var bytes = Array(
            "request\n\(caller)\n\(request.face.rawValue)\n\(request.model)\n\(agent ?? "")\n\(choice)\n".utf8
        )
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

    /// The text without the thoughts that programs store inside it, without carriage returns and without blanks around it.
    package static func normalized(_ text: String) -> String {
        var bytes = Array(text.utf8)
        for (start, end) in [("<details type=\"reasoning\"", "</details>"), ("<think>", "</think>")] {
            bytes = removing(start, end, from: bytes)
        }
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
