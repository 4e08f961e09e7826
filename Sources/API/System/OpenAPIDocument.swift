import EventLoops
import HTTPModel
import Server

/// `GET /openapi.yaml` and `/openapi.json`: the contract, as it is kept in the repository.
enum OpenAPIDocument {
    /// One form of the document with its validator, made when it is first asked for.
    private struct Form {
        let response: Response
        let tag: EntityTag

        init(_ text: String, _ type: MediaType) {
            response = Response(.ok, contentType: type.essence, body: Array(text.utf8))
            tag = EntityTag(ofBytes: response.body)
        }
    }

    private static let yamlForm = Form(yaml, .yaml)
    private static let jsonForm = Form(json, .json)

    static func yaml(_ api: HTTPAPI, _ call: Call, _ loop: isolated EventLoop) {
        call.respond(yamlForm.response, tag: yamlForm.tag, on: loop)
    }

    static func json(_ api: HTTPAPI, _ call: Call, _ loop: isolated EventLoop) {
        call.respond(jsonForm.response, tag: jsonForm.tag, on: loop)
    }
}
