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
            handler: delete
        ),
        Route(
            "getAvatar",
            .get,
            "/v1/identity/avatar",
            scope: .read,
            produces: [.png, .jpeg, .webp],
            query: ["agent"],
            handler: get
        ),
        Route(
            "putAvatar",
            .put,
            "/v1/identity/avatar",
            scope: .identity,
            body: .upTo(Route.avatarBytes, types: [.png, .jpeg, .webp]),
            query: ["agent"],
            handler: put
        ),
    ]

    static func get(_ api: HTTPAPI, _ call: Call, _ loop: isolated EventLoop) throws(Problem) {
        let documents = api.documents
        let agent = try DocumentOperations.agent(of: call, documents)
        api.services.avatars.read(agent, on: loop) { result in
            switch result {
            case .failure(let error): return call.fail(.storage(error), on: loop)
            case .success(let stored):
                guard let stored, let header = try? ImageHeader(checking: stored) else { break }
                return answer(stored, header.mimeType, call, loop)
            }
            let name = DocumentService.Name(agent: agent, kind: .identity)
            documents.read(name, refresh: false, on: loop) { result in
                switch result {
                case .success(let identity): fromIdentity(identity, call, loop)
                case .failure(let fault): call.fail(Problem(fault), on: loop)
                }
            }
        }
    }

    static func put(_ api: HTTPAPI, _ call: Call, _ loop: isolated EventLoop) throws(Problem) {
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
        change(agent, to: bytes, if: condition, api, call, loop) {
            let response = Response.object { object in
                object.member("agent", agent)
                object.member("mimeType", header.mimeType)
                object.member("width", header.width)
                object.member("height", header.height)
                object.member("bytes", bytes.count)
            }
            return response.adding(.etag, EntityTag(DocumentService.tag(of: bytes)).text)
        }
    }

    static func delete(_ api: HTTPAPI, _ call: Call, _ loop: isolated EventLoop) throws(Problem) {
        let agent = try DocumentOperations.agent(of: call, api.documents)
        let condition = try call.requiredIfMatch()
        change(agent, to: nil, if: condition, api, call, loop) { Response(.noContent) }
    }

    private static func change(
        _ agent: String,
        to bytes: [UInt8]?,
        if condition: EntityTagCondition,
        _ api: HTTPAPI,
        _ call: Call,
        _ loop: isolated EventLoop,
        answer: @escaping () -> Response
    ) {
        let isMet: @Sendable (String?) -> Bool = { current in
            condition == .any || condition.matchesStrongly(current.map { EntityTag($0) })
        }
        api.services.avatars.change(agent, to: bytes, if: isMet, on: loop) { result in
            switch result {
            case .success(.done): call.respond(answer(), on: loop)
            case .success(.moved(current: nil)):
                call.fail(Problem(.preconditionFailed, "There is no picture.", field: "If-Match"), on: loop)
            case .success(.moved(let current?)):
                let detail = "The picture is not the version that If-Match names."
                let problem = Problem(.preconditionFailed, detail, field: "If-Match")
                call.fail(problem.adding(.etag, EntityTag(current).text), on: loop)
            case .failure(let error): call.fail(.storage(error), on: loop)
            }
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
