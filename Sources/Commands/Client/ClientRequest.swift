import HTTPModel
import JSONBytes

/// One request to the API.
struct ClientRequest: Sendable {
    var method: HTTPMethod
    var path: String
    var query: [(name: String, value: String)] = []
    var accept = "application/json"
    var fields: [(name: String, value: String)] = []
    var contentType: String?
    var body: [UInt8] = []
    /// The longest wait for the head of the answer.
    var patienceMilliseconds = 30_000

    init(_ method: HTTPMethod, _ path: String) {
        self.method = method
        self.path = path
    }

    static func get(_ path: String) -> ClientRequest { ClientRequest(.get, path) }

    /// A path from parts, each percent-encoded.
    static func path(_ parts: String...) -> String { parts.map { "/" + PercentCoding.encode($0) }.joined() }

    func adding(_ name: String, _ value: String?) -> ClientRequest {
        guard let value else { return self }
        var copy = self
        copy.query.append((name, value))
        return copy
    }

    func json(_ write: (inout JSONWriter) -> Void) -> ClientRequest {
        var writer = JSONWriter()
        writer.object(nil, write)
        return with(body: writer.bytes, as: "application/json")
    }

    func with(body: [UInt8], as contentType: String) -> ClientRequest {
        var copy = self
        copy.body = body
        copy.contentType = contentType
        return copy
    }

    func field(_ name: String, _ value: String?) -> ClientRequest {
        guard let value else { return self }
        var copy = self
        copy.fields.append((name, value))
        return copy
    }

    func accepting(_ type: String, patience: Int? = nil) -> ClientRequest {
        var copy = self
        copy.accept = type
        copy.patienceMilliseconds = patience ?? patienceMilliseconds
        return copy
    }

    var target: String {
        let items = query.map { "\(PercentCoding.encode($0.name))=\(PercentCoding.encode($0.value))" }
        return items.isEmpty ? path : path + "?" + items.joined(separator: "&")
    }
}

struct ClientResponse: Sendable {
    let head: ResponseHead
    let body: [UInt8]

    var status: Int { Int(head.status.code) }
    var contentType: String { head.fields.string(for: .contentType) ?? "" }
    var isJSON: Bool { contentType.hasPrefix("application/json") || contentType.hasPrefix("application/problem+json") }

    func json() throws(ClientError) -> JSONValue {
        do throws(JSONError) {
            return try JSONDocument(parsing: body, limits: .gateway).root
        } catch {
            throw .badAnswer("its body is no JSON (\(error.description))")
        }
    }
}
