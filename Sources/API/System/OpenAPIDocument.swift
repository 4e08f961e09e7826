import COpenAPI
import EventLoops
import HTTPModel
import Server

/// `GET /openapi.yaml`, `/openapi.json` and `/asyncapi.json`: the contract, exactly as in the repository.
enum OpenAPIDocument {
    // Copied byte by byte, once: this layer holds no unsafe code.
    static let yaml = (0..<copenapi_yaml_count()).map(copenapi_yaml)
    static let json = (0..<copenapi_json_count()).map(copenapi_json)
    private static let events = (0..<copenapi_events_count()).map(copenapi_events)

    /// One format of the document with its validator, made on first use.
    private struct Form {
        let response: Response
        let tag: EntityTag

        init(_ bytes: [UInt8], _ type: MediaType) {
            response = Response(.ok, contentType: type.essence, body: bytes)
            tag = EntityTag(ofBytes: bytes)
        }
    }

    private static let yamlForm = Form(yaml, .yaml)
    private static let jsonForm = Form(json, .json)
    private static let eventsForm = Form(events, .json)

    static func getYAML(_ api: HTTPAPI, _ call: Call, _ loop: isolated EventLoop) {
        call.respond(yamlForm.response, tag: yamlForm.tag, on: loop)
    }

    static func getJSON(_ api: HTTPAPI, _ call: Call, _ loop: isolated EventLoop) {
        call.respond(jsonForm.response, tag: jsonForm.tag, on: loop)
    }

    static func getEvents(_ api: HTTPAPI, _ call: Call, _ loop: isolated EventLoop) {
        call.respond(eventsForm.response, tag: eventsForm.tag, on: loop)
    }
}
