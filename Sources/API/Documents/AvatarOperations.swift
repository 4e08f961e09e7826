import Access
import Documents
import EventLoops
import HTTPModel
import JSONBytes
import Server
import Service

/// `/v1/identity/avatar`: a picture kept by Ladle, checked by its bytes and not by its name.
enum AvatarOperations {
    static let routes = [
        Route(
            "deleteAvatar",
            .delete,
            "/v1/identity/avatar",
            scope: .identity,
            produces: [],
            query: ["agent"],
            handler: Route.flow(delete)
        ),
        Route(
            "getAvatar",
            .get,
            "/v1/identity/avatar",
            scope: .read,
            produces: [.png, .jpeg, .webp],
            query: ["agent"],
            handler: Route.flow(get)
        ),
        Route(
            "putAvatar",
            .put,
            "/v1/identity/avatar",
            scope: .identity,
            body: .upTo(Route.avatarBytes, types: [.png, .jpeg, .webp]),
            query: ["agent"],
            handler: Route.flow(put)
        ),
    ]

    static func get(_ api: HTTPAPI, _ call: Call, _ loop: isolated EventLoop) async throws(Problem) {
        let documents = api.documents
        let agent = try DocumentOperations.agent(of: call, documents)
        let stored: [UInt8]?
        do { stored = try await api.services.avatars.read(agent, on: loop) } catch { throw .storage(error) }
        if let stored, let header = try? ImageHeader(checking: stored) {
            return answer(stored, header.mimeType, call, loop)
        }
        let name = DocumentService.Name(agent: agent, kind: .identity)
        do throws(DocumentFault) {
            fromIdentity(try await documents.read(name, refresh: false, on: loop), call, loop)
        } catch {
            throw Problem(error)
        }
    }

    static func put(_ api: HTTPAPI, _ call: Call, _ loop: isolated EventLoop) async throws(Problem) {
        let agent = try DocumentOperations.agent(of: call, api.documents)
        let condition = try call.requiredIfMatch()
        let bytes = call.exchange.body
        let header: ImageHeader
        do throws(ImageError) {
            header = try ImageHeader(checking: bytes)
        } catch {
            throw .invalidField("body", "The picture is not taken: \(error.message).")
        }
        let claimed = try call.bodyType().essence
        guard claimed == header.mimeType || claimed == "application/octet-stream" else {
            throw .invalidField("Content-Type", "The body is \(header.mimeType), not \(claimed).")
        }
        try await change(agent, to: bytes, if: condition, api, loop)
        let response = Response.object { object in
            object.member("agent", agent)
            object.member("mimeType", header.mimeType)
            object.member("width", header.width)
            object.member("height", header.height)
            object.member("bytes", bytes.count)
        }
        call.respond(response.adding(.etag, EntityTag(DocumentService.tag(of: bytes)).text), on: loop)
    }

    static func delete(_ api: HTTPAPI, _ call: Call, _ loop: isolated EventLoop) async throws(Problem) {
        let agent = try DocumentOperations.agent(of: call, api.documents)
        let condition = try call.requiredIfMatch()
        try await change(agent, to: nil, if: condition, api, loop)
        call.respond(Response(.noContent), on: loop)
    }

    private static func change(
        _ agent: String,
        to bytes: [UInt8]?,
        if condition: EntityTagCondition,
        _ api: HTTPAPI,
        _ loop: isolated EventLoop
    ) async throws(Problem) {
        let isMet: @Sendable (String?) -> Bool = { current in
            condition == .any || condition.matchesStrongly(current.map { EntityTag($0) })
        }
        let changed: AvatarStore.Change
        do {
            changed = try await api.services.avatars.change(agent, to: bytes, if: isMet, on: loop)
        } catch {
            throw .storage(error)
        }
        switch changed {
        case .done: return
        case .moved(current: nil): throw Problem(.preconditionFailed, "There is no picture.", field: "If-Match")
        case .moved(let current?):
            let detail = "The picture is not the version that If-Match names."
            throw Problem(.preconditionFailed, detail, field: "If-Match").adding(.etag, EntityTag(current).text)
        }
    }

    /// The picture in the identity's own field: a data URL is served, any other URL is only named.
    private static func fromIdentity(_ identity: DocumentService.Copy, _ call: Call, _ loop: isolated EventLoop) {
        guard let field = FieldDocument(kind: .identity, bytes: identity.bytes).fields[.avatar] else {
            return call.fail(Problem(.notFound, "There is no avatar."), on: loop)
        }
        switch AvatarReference(field) {
        case .embedded(let header, let bytes): answer(bytes, header.mimeType, call, loop)
        case .url(let url):
            call.fail(
                Problem(.avatarIsRemote, "The avatar is at a URL, which is not fetched for you.")
                    .adding(member: "avatarUrl") { $0.string(url) },
                on: loop
            )
        case .path, .text, .invalid:
            let detail = "There is no picture; the avatar is \"\(field.prefix(200))\"."
            call.fail(Problem(.notFound, detail), on: loop)
        }
    }

    private static func answer(_ bytes: [UInt8], _ type: String, _ call: Call, _ loop: isolated EventLoop) {
        var response = Response(.ok, contentType: type, body: bytes)
        response.mayCompress = false
        response.head.fields.append(.contentSecurityPolicy, "default-src 'none'; sandbox")
        call.respond(response, tag: EntityTag(DocumentService.tag(of: bytes)), on: loop)
    }
}
