package import Basics
import JSONBytes

/// A response as it is kept: the request, and the places of its course. State and text are those of the message's run, which Ladle keeps anyway.
package struct ResponseRecord: Sendable, Equatable {
    /// The id of the message's entry in the outbox.
    package let entry: String
    /// The identity of the caller, who alone may read the response.
    package let owner: String
    package let model: String
    package let session: String
    package let input: String
    package let created: Timestamp
    package var instructions: String?
    package var metadata: [(name: String, value: String)] = []
    package var previous: String?
    package var conversation: String?
    package var isBackground = false
    package var streams = false
    package var marks: [AnswerCourse.Mark] = []
    package var limit = 0

    package init(
        entry: String,
        owner: String,
        model: String,
        session: String,
        input: String,
        created: Timestamp
    ) {
        self.entry = entry
        self.owner = owner
        self.model = model
        self.session = session
        self.input = input
        self.created = created
    }

    package var id: String { SessionChoice.responsePrefix + entry }

    package static func == (left: ResponseRecord, right: ResponseRecord) -> Bool { left.bytes == right.bytes }

    // MARK: On disk

    package var bytes: [UInt8] {
        var writer = JSONWriter(capacity: input.utf8.count + 512)
        writer.object { object in
            object.member("entry", entry)
            object.member("owner", owner)
            object.member("model", model)
            object.member("session", session)
            object.member("input", input)
            object.member("created", created.milliseconds)
            object.member("instructions", instructions)
            object.object("metadata") { for item in metadata { $0.member(item.name, item.value) } }
            object.member("previous", previous)
            object.member("conversation", conversation)
            object.member("background", isBackground)
            object.member("stream", streams)
            object.member("limit", limit)
            object.array("marks") { list in for mark in marks { Self.write(mark, to: &list) } }
        }
        return writer.bytes
    }

    package init?(_ bytes: [UInt8]) {
        guard let root = try? JSONDocument(parsing: bytes).root, let entry = root["entry"]?.string,
            let owner = root["owner"]?.string, let model = root["model"]?.string, let session = root["session"]?.string,
            let input = root["input"]?.string, let created = root["created"]?.int
        else { return nil }
        self.init(
            entry: entry,
            owner: owner,
            model: model,
            session: session,
            input: input,
            created: Timestamp(milliseconds: created)
        )
        instructions = root["instructions"]?.string
        metadata = root["metadata"]?.members.compactMap { item in item.value.string.map { (item.key, $0) } } ?? []
        previous = root["previous"]?.string
        conversation = root["conversation"]?.string
        isBackground = root["background"]?.bool ?? false
        streams = root["stream"]?.bool ?? false
        limit = Int(root["limit"]?.int ?? 0)
        marks = root["marks"]?.elements.compactMap(Self.mark) ?? []
    }

    private static func write(_ mark: AnswerCourse.Mark, to list: inout JSONWriter) {
        list.array { item in
            item.int(mark.at)
            switch mark.kind {
            case .note(let line): item.string(line)
            case .replaced: item.null()
            case .jump(let place): item.int(place)
            }
        }
    }

    private static func mark(_ item: JSONValue) -> AnswerCourse.Mark? {
        guard let at = item[0]?.int, let value = item[1] else { return nil }
        let kind: AnswerCourse.Mark.Kind? =
            value.isNull ? .replaced : value.string.map { .note($0) } ?? value.int.map { .jump(to: Int($0)) }
        return kind.map { AnswerCourse.Mark(at: Int(at), $0) }
    }
}
