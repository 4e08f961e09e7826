import Access
import Basics
import EventLoops
import HTTPModel
import JSONBytes
import OpenAI
import Server
import Service
import TLS

/// `/openai/v1/conversations`: names for sessions, as OpenAI has them. The agent keeps the conversation itself.
enum ConversationOperations {
    static let routes = [
        Route(
            "openaiCreateConversation",
            .post,
            "/openai/v1/conversations",
            scope: .send,
            body: Route.json,
            handler: OpenAIOperations.flow(create)
        ),
        Route(
            "openaiGetConversation",
            .get,
            "/openai/v1/conversations/{id}",
            scope: .send,
            handler: OpenAIOperations.flow(get)
        ),
        Route(
            "openaiUpdateConversation",
            .post,
            "/openai/v1/conversations/{id}",
            scope: .send,
            body: Route.json,
            handler: OpenAIOperations.flow(update)
        ),
        Route(
            "openaiDeleteConversation",
            .delete,
            "/openai/v1/conversations/{id}",
            scope: .send,
            handler: OpenAIOperations.flow(delete)
        ),
    ]

    struct Conversation: Sendable {
        let id: String
        let owner: String
        let created: Int64
        var metadata: [(name: String, value: String)] = []

        var row: DoorRows.Row {
            var writer = JSONWriter()
            writer.object { object in
                object.member("owner", owner)
                object.member("created", created)
                write(to: &object)
            }
            return DoorRows.Row(.conversations, id, writer.bytes)
        }

        func write(to object: inout JSONWriter) {
            object.object("metadata") { for item in metadata { $0.member(item.name, item.value) } }
        }
    }

    static func unknown(_ id: String, param: String = "conversation_id") -> OpenAIError {
        let shown = Printable.escaped(id.shortened).text
        return .notFound("There is no conversation `\(shown)`.", code: "conversation_not_found", param: param)
    }

    /// A conversation of this caller; nil if there is none.
    static func find(
        _ id: String,
        _ api: HTTPAPI,
        _ call: Call,
        on loop: isolated EventLoop
    ) async throws(OpenAIError) -> Conversation? {
        do {
            guard let saved = try await api.services.doorRows.read(.conversations, id, on: loop),
                let root = try? JSONDocument(parsing: saved.bytes).root, let owner = root["owner"]?.string,
                owner == call.caller.identity
            else { return nil }
            var found = Conversation(id: id, owner: owner, created: root["created"]?.int ?? 0)
            found.metadata =
                root["metadata"]?.members.compactMap { item in item.value.string.map { (item.key, $0) } } ?? []
            return found
        } catch {
            throw OpenAIError(.storage(error))
        }
    }

    private static func found(_ api: HTTPAPI, _ call: Call, on loop: isolated EventLoop) async throws(OpenAIError)
        -> Conversation
    {
        guard let found = try await find(call.pathID, api, call, on: loop) else { throw unknown(call.pathID) }
        return found
    }

    /// The new metadata; nil if the body has none.
    private static func metadata(_ call: Call) throws(OpenAIError) -> [(name: String, value: String)]? {
        guard !call.exchange.body.isEmpty else { return nil }
        let body: JSONValue
        do throws(Problem) {
            body = try Call.parse(call.exchange.body).get().root
        } catch {
            throw OpenAIError(error)
        }
        if let items = body["items"], items.count > 0 {
            throw .unsupported("items", "A conversation begins empty: the agent keeps its turns itself.")
        }
        return try OpenAIRequest.metadata(body["metadata"])
    }

    private static func save(
        _ conversation: Conversation,
        _ api: HTTPAPI,
        _ call: Call,
        on loop: isolated EventLoop
    ) async throws(OpenAIError) {
        let written = await loop.wait { api.services.doorRows.write([conversation.row], on: loop, completion: $0) }
        guard written != nil else {
            throw OpenAIError(503, .server, "server_error", "The database cannot be written now: ladle doctor")
        }
        answer(conversation, call, on: loop)
    }

    private static func answer(_ conversation: Conversation, _ call: Call, on loop: isolated EventLoop) {
        call.respond(
            .object { object in
                object.member("id", conversation.id)
                object.member("object", "conversation")
                object.member("created_at", conversation.created)
                conversation.write(to: &object)
            },
            on: loop
        )
    }

    static func create(_ api: HTTPAPI, _ call: Call, _ loop: isolated EventLoop) async throws(OpenAIError) {
        let metadata = try metadata(call)
        let now = loop.wallClock.milliseconds
        let id = UUIDv7.make(milliseconds: now, random: SecureRandom.bytes(10))
        var made = Conversation(
            id: SessionChoice.conversationPrefix + id,
            owner: call.caller.identity,
            created: now / 1000
        )
        made.metadata = metadata ?? []
        call.subject = made.id
        try await save(made, api, call, on: loop)
    }

    static func get(_ api: HTTPAPI, _ call: Call, _ loop: isolated EventLoop) async throws(OpenAIError) {
        answer(try await found(api, call, on: loop), call, on: loop)
    }

    static func update(_ api: HTTPAPI, _ call: Call, _ loop: isolated EventLoop) async throws(OpenAIError) {
        let metadata = try metadata(call)
        var changed = try await found(api, call, on: loop)
        changed.metadata = metadata ?? changed.metadata
        try await save(changed, api, call, on: loop)
    }

    static func delete(_ api: HTTPAPI, _ call: Call, _ loop: isolated EventLoop) async throws(OpenAIError) {
        let gone = try await found(api, call, on: loop)
        do {
            try await api.services.doorRows.remove(.conversations, gone.id, on: loop)
        } catch {
            throw OpenAIError(.storage(error))
        }
        call.respond(
            .object { object in
                object.member("id", gone.id)
                object.member("object", "conversation.deleted")
                object.member("deleted", true)
            },
            on: loop
        )
    }
}
