import Access
import EventLoops
import HTTPModel
import JSONBytes
import Server
import Service

/// `/v1/sessions/{key}/artifacts`: files and pictures that came of a session's runs.
enum ArtifactOperations {
    static let routes = [
        Route(
            "listArtifacts",
            .get,
            "/v1/sessions/{key}/artifacts",
            scope: .read,
            handler: Route.flow(list)
        ),
        Route(
            "getArtifact",
            .get,
            "/v1/sessions/{key}/artifacts/{id}",
            scope: .read,
            produces: types,
            handler: Route.flow(get)
        ),
    ]

    private static let types: [MediaType] =
        [.octetStream, .png, .jpeg, .gif, .webp, .mp4, .pdf, .plain] + SpeechOperation.types.dropLast()

    static func list(_ api: HTTPAPI, _ call: Call, _ loop: isolated EventLoop) async throws(Problem) {
        let session = try call.session(api)
        let artifacts: [Artifact]
        do throws(GatewayFault) {
            artifacts = try await api.services.artifacts.list(session, on: loop)
        } catch {
            throw Problem(error, listing: call, api, on: loop)
        }
        call.respondTagged(
            .object { object in
                object.member("session", session)
                object.array("artifacts", of: artifacts)
            },
            on: loop
        )
    }

    static func get(_ api: HTTPAPI, _ call: Call, _ loop: isolated EventLoop) async throws(Problem) {
        let session = try call.session(api)
        do throws(ArtifactService.Fault) {
            let found = try await api.services.artifacts.download(
                call.parameters[1],
                of: session,
                if: { call.exchange.reserve(Int($0)) },
                on: loop
            )
            let type = FileContent.type(found.bytes)
            // A file of an agent is stored and never shown: it may be a page.
            let response = FileAnswer.response(found.bytes, as: type, name: found.artifact.name, isShown: false)
            call.respondTagged(response, on: loop)
        } catch {
            switch error {
            case .notFound:
                throw Problem(.artifactNotFound, "The session has no artifact of this whole id.", field: "id")
            case .elsewhere:
                let detail = "The gateway gives an address in place of the bytes, and Ladle asks no such address."
                throw Problem(.artifactElsewhere, detail)
            case .tooLarge(let bytes, let limit):
                let detail = "The artifact takes \(bytes) bytes; Ladle passes on \(limit)."
                throw Problem(.gatewayAnswerTooLarge, detail)
            case .noRoom: throw .unreadAnswers
            case .gateway(let fault): throw Problem(fault, listing: call, api, on: loop)
            }
        }
    }
}

extension Problem {
    fileprivate init(_ fault: GatewayFault, listing call: Call, _ api: HTTPAPI, on loop: isolated EventLoop) {
        let wait = call.untilNextTry(api, on: loop)
        self.init(fault, changing: "give the artifacts", isRepeatable: true, hint: nil, retryAfterMs: wait)
    }
}

extension Artifact {
    /// The last part of the title, without the ending, which follows from the type.
    fileprivate var name: String {
        let last = title.split { $0 == "/" || $0 == "\\" }.last.map(String.init) ?? id
        guard let dot = last.lastIndex(of: "."), dot > last.startIndex else { return last }
        return String(last[..<dot])
    }
}
