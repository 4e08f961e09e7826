import Access
import Documents
import EventLoops
import HTTPModel
import JSONBytes
import Server
import Service
import Store

/// `/v1/identity/avatar`: a picture kept here, checked by what it is and not by what it is called.
enum AvatarOperations {
    private static let space = "avatars"

    static func get(_ api: HTTPAPI, _ call: Call, _ loop: isolated EventLoop) {
        do throws(Problem) {
            let documents = api.documents
            let agent = try DocumentOperations.agent(of: call, documents)
            load(agent, api, loop) { stored in
                if let stored, let header = try? ImageHeader(checking: stored) {
                    return answer(stored, header.mimeType, call, loop)
                }
                let name = DocumentService.Name(agent: agent, kind: .identity)
                documents.read(name, refresh: false, on: loop) { result in
                    switch result {
                    case .success(let identity): fromIdentity(identity, call, loop)
                    case .failure(let fault): call.fail(Problem(fault, over: api.services.gateway), on: loop)
                    }
                }
            }
        } catch {
            call.fail(error, on: loop)
        }
    }

    static func put(_ api: HTTPAPI, _ call: Call, _ loop: isolated EventLoop) {
        do throws(Problem) {
            let agent = try DocumentOperations.agent(of: call, api.documents)
            let condition = try DocumentOperations.condition(of: call)
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
            change(agent, to: bytes, if: condition, api, loop) { result in
                switch result {
                case .failure(let problem): call.fail(problem, on: loop)
                case .success:
                    call.respond(
                        .json(.ok) { writer in
                            writer.object { object in
                                object.member("agent", agent)
                                object.member("mimeType", header.mimeType)
                                object.member("width", header.width)
                                object.member("height", header.height)
                                object.member("bytes", bytes.count)
                            }
                        }.adding(.etag, EntityTag(DocumentService.tag(of: bytes)).text),
                        on: loop
                    )
                }
            }
        } catch {
            call.fail(error, on: loop)
        }
    }

    static func delete(_ api: HTTPAPI, _ call: Call, _ loop: isolated EventLoop) {
        do throws(Problem) {
            let agent = try DocumentOperations.agent(of: call, api.documents)
            let condition = try DocumentOperations.condition(of: call)
            change(agent, to: nil, if: condition, api, loop) { result in
                switch result {
                case .failure(let problem): call.fail(problem, on: loop)
                case .success: call.respond(Response(.noContent), on: loop)
                }
            }
        } catch {
            call.fail(error, on: loop)
        }
    }

    private static func load(
        _ agent: String,
        _ api: HTTPAPI,
        _ loop: isolated EventLoop,
        then done: @escaping ([UInt8]?) -> Void
    ) {
        let bound = LoopBound(done, on: loop)
        api.feed.journal.read { tables in
            try tables.values.get(space: space, name: agent)?.bytes
        } completion: { [weak loop] result in
            loop?.post { bound.value(on: $0)?((try? result.get()) ?? nil) }
        }
    }

    /// One transaction reads, compares and replaces: a picture is never half of one and half of another.
    private static func change(
        _ agent: String,
        to bytes: [UInt8]?,
        if condition: EntityTagCondition,
        _ api: HTTPAPI,
        _ loop: isolated EventLoop,
        then done: @escaping (Result<Void, Problem>) -> Void
    ) {
        api.feed.commit(cost: bytes?.count ?? 0, on: loop) { transaction -> String? in
            let current = try transaction.values.get(space: space, name: agent)
            let tag = current.map { EntityTag(DocumentService.tag(of: $0.bytes)) }
            guard condition == .any || condition.matchesStrongly(tag) else { return tag?.text ?? "" }
            if let bytes {
                try transaction.values.set(bytes, space: space, name: agent, at: transaction.now)
            } else {
                try transaction.values.remove(space: space, name: agent)
            }
            return nil
        } completion: { result in
            switch result {
            case .failure(let error): done(.failure(.storeUnavailable("\(error)")))
            case .success(nil): done(.success(()))
            case .success(let tag?):
                var problem = Problem(
                    .preconditionFailed,
                    tag.isEmpty ? "There is no picture." : "The picture is not the version that If-Match names.",
                    field: "If-Match"
                )
                if !tag.isEmpty { problem = problem.adding(.etag, tag) }
                done(.failure(problem))
            }
        }
    }

    /// The identity's own field: a picture inside it is served, a URL is only told about.
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
            call.fail(Problem(.notFound, "There is no picture; the avatar is \"\(field.prefix(200))\"."), on: loop)
        }
    }

    private static func answer(_ bytes: [UInt8], _ type: String, _ call: Call, _ loop: isolated EventLoop) {
        var response = Response(.ok, contentType: type, body: bytes)
        response.mayCompress = false
        response.head.fields.append(.contentSecurityPolicy, "default-src 'none'; sandbox")
        call.respond(response, tag: EntityTag(DocumentService.tag(of: bytes)), on: loop)
    }
}
