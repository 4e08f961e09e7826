import Access
import Documents
import EventLoops
import HTTPModel
import JSONBytes
import Server
import Service

/// `/v1/identity` and `/v1/profile`: fields and the file itself.
enum DocumentOperations {
    static let routes = [
        Route(
            "getIdentity",
            .get,
            "/v1/identity",
            scope: .read,
            produces: [.json, .markdown],
            query: ["agent", "refresh"],
            handler: Route.flow(get(.identity))
        ),
        Route(
            "patchIdentity",
            .patch,
            "/v1/identity",
            scope: .identity,
            body: .upTo(Route.jsonBytes, types: [.mergePatchJSON, .json]),
            produces: [.json, .markdown],
            query: ["agent"],
            handler: Route.flow(patch(.identity))
        ),
        Route(
            "putIdentity",
            .put,
            "/v1/identity",
            scope: .identity,
            body: .upTo(Route.documentBytes, types: [.json, .markdown]),
            produces: [.json, .markdown],
            query: ["agent"],
            handler: Route.flow(put(.identity))
        ),
        Route(
            "getProfile",
            .get,
            "/v1/profile",
            scope: .read,
            produces: [.json, .markdown],
            query: ["agent", "refresh"],
            handler: Route.flow(get(.profile))
        ),
        Route(
            "patchProfile",
            .patch,
            "/v1/profile",
            scope: .identity,
            body: .upTo(Route.jsonBytes, types: [.mergePatchJSON, .json]),
            produces: [.json, .markdown],
            query: ["agent"],
            handler: Route.flow(patch(.profile))
        ),
        Route(
            "putProfile",
            .put,
            "/v1/profile",
            scope: .identity,
            body: .upTo(Route.documentBytes, types: [.json, .markdown]),
            produces: [.json, .markdown],
            query: ["agent"],
            handler: Route.flow(put(.profile))
        ),
    ]

    static func get(_ kind: DocumentKind) -> Route.Flow {
        { api, call, loop async throws(Problem) in
            let documents = api.documents
            let name = DocumentService.Name(agent: try agent(of: call, documents), kind: kind)
            let refresh = try call.flag("refresh")
            let copy: DocumentService.Copy
            do throws(DocumentFault) {
                copy = try await documents.read(name, refresh: refresh, on: loop)
            } catch {
                throw Problem(error)
            }
            answer(copy, name, path: nil, call, loop)
        }
    }

    static func put(_ kind: DocumentKind) -> Route.Flow {
        { api, call, loop async throws(Problem) in
            if try call.bodyType() == .markdown {
                return try await write(.whole(try wholeFile(call.exchange.body)), kind, api, call, loop)
            }
            let body = try call.jsonObject(of: ["fields", "markdown"] + kind.names)
            if let markdown = body["markdown"] {
                guard let text = markdown.string else {
                    throw .invalidField("markdown", "`markdown` is the whole file, a string.")
                }
                return try await write(.whole(try wholeFile(Array(text.utf8))), kind, api, call, loop)
            }
            let fields = body["fields"] ?? body
            let patch: FieldPatch
            do throws(FieldError) {
                patch = try FieldPatch(kind: kind, replacingWith: fields)
            } catch {
                throw Problem(error)
            }
            try await write(.fields(patch), kind, api, call, loop)
        }
    }

    static func patch(_ kind: DocumentKind) -> Route.Flow {
        { api, call, loop async throws(Problem) in
            let body = try call.jsonObject(of: kind.names)
            let patch: FieldPatch
            do throws(FieldError) { patch = try FieldPatch(kind: kind, merging: body) } catch { throw Problem(error) }
            try await write(.fields(patch), kind, api, call, loop)
        }
    }

    private static func write(
        _ change: DocumentWrite.Change,
        _ kind: DocumentKind,
        _ api: HTTPAPI,
        _ call: Call,
        _ loop: isolated EventLoop
    ) async throws(Problem) {
        let documents = api.documents
        let name = DocumentService.Name(agent: try agent(of: call, documents), kind: kind)
        guard documents.waiting(name) < mostWaiting else {
            throw Problem(.tooManyWriters, "Too many changes of this file wait for each other.")
        }
        let condition = DocumentCondition(try call.requiredIfMatch())
        do throws(DocumentFault) {
            let (copy, path) = try await DocumentWrite(documents, name, change, if: condition).carryOut(on: loop)
            answer(copy, name, path: path, call, loop)
        } catch {
            throw Problem(error)
        }
    }

    /// The most writers of one file that may wait for each other.
    private static let mostWaiting = 1000

    private static func answer(
        _ copy: DocumentService.Copy,
        _ name: DocumentService.Name,
        path: DocumentWrite.Path?,
        _ call: Call,
        _ loop: isolated EventLoop
    ) {
        let tag = EntityTag(DocumentService.tag(of: copy.bytes))
        if call.answerType == .markdown {
            let response = Response(.ok, contentType: "text/markdown; charset=utf-8", body: copy.bytes)
            return call.respond(response, tag: tag, on: loop)
        }
        let view = DocumentView(
            agent: name.agent,
            document: FieldDocument(kind: name.kind, bytes: copy.bytes),
            path: path,
            stale: !copy.isFresh,
            asOf: copy.asOf,
            isExpectedAbsent: copy.isExpectedAbsent
        )
        call.respond(.json(.ok, view), tag: tag, on: loop)
    }

    /// The agent named by the request, if the caller may use it.
    static func agent(of call: Call, _ documents: DocumentService) throws(Problem) -> String {
        let agent = try AgentParameter.query(of: call) ?? documents.defaultAgent
        guard call.caller.mayUse(agent: agent) else { throw Problem(.foreignSession) }
        return agent
    }

    private static func wholeFile(_ bytes: [UInt8]) throws(Problem) -> [UInt8] {
        do throws(FieldError) { try FieldDocument.validate(bytes) } catch { throw Problem(error) }
        return bytes
    }
}
