import HTTPModel
import OpenAI
import Server

/// The API whose form an answer has.
enum DoorFace: Sendable {
    case openAI, ollama

    /// The face of a request, which its errors have too, from whatever part of Ladle they come; nil for Ladle's own.
    init?(path: ArraySlice<UInt8>) {
        for (name, face) in [("/openai", Self.openAI), ("/ollama", .ollama)] where path.starts(with: name.utf8) {
            guard path.count == name.utf8.count || path[path.startIndex + name.utf8.count] == UInt8(ascii: "/") else {
                continue
            }
            self = face
            return
        }
        return nil
    }

    func response(_ error: OpenAIError, requestID: String) -> Response {
        let body =
            switch self {
            case .openAI: error.body
            case .ollama: OllamaAnswer.body(of: error)
            }
        var response = Response(HTTPStatus(error.status), contentType: "application/json", body: body + [0x0A])
        response.mayCompress = false
        response.head.fields.append("x-request-id", requestID)
        if error.isRepeatedByStatus {
            response.head.fields.append("x-should-retry", error.mayRepeat ? "true" : "false")
        }
        if let seconds = error.retryAfterSeconds { response.head.fields.append(.retryAfter, String(seconds)) }
        return response
    }

    /// The answer to a request that was refused before its handler, or by it.
    func response(_ problem: Problem, requestID: String) -> Response {
        var response = response(OpenAIError(problem), requestID: requestID)
        response.closes = problem.closes
        for (name, value) in problem.fields where name != .retryAfter { response.head.fields.append(name, value) }
        return response
    }
}
