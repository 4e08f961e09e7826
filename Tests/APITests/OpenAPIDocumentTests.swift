import Access
import HTTPModel
import JSONBytes
import Testing

@testable import API
@testable import Service

/// The document and the route table agree completely, in both directions.
@Suite struct OpenAPIDocumentTests {
    private struct Operation {
        let method: String
        let path: String
        let json: JSONValue
    }

    private let root: JSONValue
    private let operations: [String: Operation]

    init() throws {
        let root = try JSONDocument(parsing: OpenAPIDocument.json, limits: .gateway).root
        var found: [String: Operation] = [:]
        for (path, methods) in try #require(root["paths"]).members {
            for (method, json) in methods.members {
                let name = try #require(json["operationId"]?.string, "\(method) \(path) has no operationId")
                #expect(found[name] == nil, "\(name) stands twice")
                found[name] = Operation(method: method.uppercased(), path: path, json: json)
            }
        }
        (self.root, operations) = (root, found)
    }

    private func resolved(_ value: JSONValue) -> JSONValue {
        guard let reference = value["$ref"]?.string else { return value }
        var place = root
        for part in reference.dropFirst(2).split(separator: "/") { place = place[String(part)] ?? place }
        return place
    }

    private func parameters(_ operation: Operation, in kind: String) -> [String] {
        (operation.json["parameters"]?.elements.map { resolved($0) } ?? [])
            .filter { $0["in"]?.string == kind }
            .compactMap { $0["name"]?.string }
    }

    private func types(_ value: JSONValue?) -> Set<String> {
        Set(value?["content"]?.members.map(\.key) ?? [])
    }

    // MARK: Both ways

    @Test func `every route is an operation of the document and every operation is a route`() {
        let routes = Set(RouteTable.routes.map(\.operation))
        #expect(routes.count == RouteTable.routes.count)
        #expect(routes.subtracting(operations.keys) == [], "missing in openapi/openapi.yaml")
        #expect(Set(operations.keys).subtracting(routes) == [], "missing in RouteTable")
    }

    @Test(arguments: RouteTable.routes.map(\.operation))
    func `method, path, scope and parameters are the same`(_ name: String) throws {
        let route = try #require(RouteTable.routes.first { $0.operation == name })
        let operation = try #require(operations[name])
        #expect(operation.method == route.method.name)
        #expect(operation.path == route.path)
        let scope = try #require(operation.json["x-ladle-scope"], "x-ladle-scope is missing")
        #expect(scope.string == route.scope?.rawValue)
        let inPath = route.parts.compactMap { if case .parameter(let name) = $0 { name } else { nil } }
        #expect(parameters(operation, in: "path") == inPath)
        // A ticket is a credential, and so is listed among the security schemes.
        #expect(Set(parameters(operation, in: "query")) == Set(route.query.filter { $0 != "ticket" }))
        #expect(security(operation) == expectedSecurity(route))
    }

    private func security(_ operation: Operation) -> [String] {
        (operation.json["security"] ?? root["security"])?.elements.flatMap { $0.members.map(\.key) } ?? []
    }

    private func expectedSecurity(_ route: Route) -> [String] {
        guard let scope = route.scope else { return [] }
        return scope == .read && route.method == .get ? ["bearer", "ticket"] : ["bearer"]
    }

    @Test(arguments: RouteTable.routes.map(\.operation))
    func `bodies are taken and answered in the documented media types`(_ name: String) throws {
        let route = try #require(RouteTable.routes.first { $0.operation == name })
        let operation = try #require(operations[name])
        let taken: [MediaType] =
            switch route.body {
            case .none, .unused: []
            case .upTo(_, let types): types
            case .message: MessageRequest.types
            }
        // Some generators cannot make a client of a body with two names for JSON; the document says of every PATCH that it has both.
        let named = route.method == .patch ? taken.filter { $0 != .json } : taken
        #expect(types(operation.json["requestBody"]) == Set(named.map(\.essence)))
        let successes = operation.json["responses"]?.members.filter { $0.key.hasPrefix("2") } ?? []
        let answered = successes.reduce(into: Set<String>()) { $0.formUnion(types(resolved($1.value))) }
        let isEmpty = successes.allSatisfy { $0.key == "204" }
        #expect(answered == (isEmpty ? [] : Set(route.produces.map(\.essence))))
    }

    @Test func `other names are refused in the body of a PATCH, and where a body grants or limits something`() throws {
        for (name, operation) in operations {
            let route = RouteTable.routes.first { $0.operation == name }
            for (type, content) in operation.json["requestBody"]?["content"]?.members.map({ ($0.key, $0.value) }) ?? []
            where type.hasSuffix("json") {
                let schema = resolved(try #require(content["schema"], "\(operation.path)"))
                let choices = schema["oneOf"]?.elements.map(resolved) ?? []
                let parts = [schema] + ["then", "else"].compactMap { schema[$0].map(resolved) } + choices
                let isClosed = parts.contains { $0["additionalProperties"]?.bool == false }
                #expect(isClosed == route?.refusesUnknownFields, "\(operation.method) \(operation.path)")
            }
        }
    }

    @Test func `every problem answer is of the one form`() {
        for operation in operations.values {
            for (status, answer) in operation.json["responses"]?.members.map({ ($0.key, $0.value) }) ?? []
            where (Int(status) ?? 0) >= 400 {
                let form =
                    ["/openai/", "/ollama/"].contains(where: operation.path.hasPrefix)
                    ? "application/json" : "application/problem+json"
                #expect(types(resolved(answer)) == [form], "\(operation.path) \(status)")
            }
        }
    }

    @Test func `every event type that a stream takes has a schema`() throws {
        let schemas = try #require(root["components"]?["schemas"])
        let documented = Set(schemas.members.compactMap { $0.value["properties"]?["type"]?["const"]?.string })
        #expect(documented == Set(EventStreamOperation.types))
        let pattern = try Regex(#require(schemas["EventTypePattern"]?["pattern"]?.string))
        for type in EventStreamOperation.types + ["*", "run.*"] {
            #expect(type.wholeMatch(of: pattern) != nil, "\(type)")
        }
        #expect("run".wholeMatch(of: pattern) == nil)
    }

    @Test func `a ticket's path is one that scope read may GET`() throws {
        let field = try #require(root["components"]?["schemas"]?["TicketInput"]?["properties"]?["path"])
        let pattern = try Regex(#require(field["pattern"]?.string))
        for route in RouteTable.routes where route.method == .get {
            let path = route.parts.map { part in
                if case .literal(let name) = part { "/" + name } else { "/01a1fd04-6940-72f5" }
            }
            #expect((path.joined().wholeMatch(of: pattern) != nil) == (route.scope == .read), "\(route.path)")
        }
    }

    @Test func `every reference leads somewhere`() {
        var places: [JSONValue] = [root]
        while let value = places.popLast() {
            if let reference = value["$ref"]?.string {
                #expect(resolved(value).kind == .object, "\(reference)")
                #expect(resolved(value).offset != root.offset, "\(reference)")
            }
            places += value.members.map(\.value) + value.elements.map { $0 }
        }
    }
}
