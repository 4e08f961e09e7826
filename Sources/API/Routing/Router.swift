package import HTTPModel

/// Finds the route of a request in a tree of path parts, built once from the route table.
package struct Router: Sendable {
    package enum Match: Sendable {
        case route(Route, parameters: [String])
        /// The path exists, but not for this method.
        case wrongMethod(allowed: [HTTPMethod], isOpen: Bool)
        case none

        /// A path with a public route may reveal its allowed methods.
        var isOpen: Bool {
            switch self {
            case .route(let route, _): route.scope == nil
            case .wrongMethod(_, let isOpen): isOpen
            case .none: false
            }
        }
    }

    private struct Node: Sendable {
        var literals: [(name: [UInt8], node: Int)] = []
        var parameter: Int?
        var routes: [Route] = []
    }

    private var nodes = [Node()]

    package init(_ routes: [Route]) {
        for route in routes { add(route) }
    }

    private mutating func add(_ route: Route) {
        var place = 0
        for part in route.parts {
            switch part {
            case .literal(let name):
                let bytes = Array(name.utf8)
                if let known = nodes[place].literals.first(where: { $0.name == bytes }) {
                    place = known.node
                } else {
                    nodes.append(Node())
                    nodes[place].literals.append((bytes, nodes.count - 1))
                    place = nodes.count - 1
                }
            case .parameter:
                if nodes[place].parameter == nil {
                    nodes.append(Node())
                    nodes[place].parameter = nodes.count - 1
                }
                place = nodes[place].parameter ?? place
            }
        }
        nodes[place].routes.append(route)
    }

    /// Finds the route of `path`, which is percent-encoded as sent. Literals win over parameters; an empty part matches
    /// nothing.
    package func match(_ method: HTTPMethod, _ path: ArraySlice<UInt8>) -> Match {
        var parameters: [String] = []
        guard let place = walk(path, &parameters) else { return .none }
        let wanted = method == .head ? .get : method
        for route in nodes[place].routes where route.method == wanted { return .route(route, parameters: parameters) }
        guard !nodes[place].routes.isEmpty else { return .none }
        return .wrongMethod(allowed: allowed(at: place), isOpen: nodes[place].routes.contains { $0.scope == nil })
    }

    /// The methods of the whole server, for `OPTIONS *`.
    package var methods: [HTTPMethod] {
        let known = Set(nodes.flatMap { $0.routes.map(\.method) })
        return known.sorted { $0.name < $1.name } + [.head, .options]
    }

    private func allowed(at place: Int) -> [HTTPMethod] {
        var methods = nodes[place].routes.map(\.method)
        if methods.contains(.get) { methods.append(.head) }
        return methods + [.options]
    }

    /// - Parameter parts: the decoded path parts.
    func leadsSomewhere(_ parts: [String]) -> Bool {
        var place = 0
        for part in parts {
            let literal = nodes[place].literals.first { $0.name.elementsEqual(part.utf8) }
            guard let next = literal?.node ?? nodes[place].parameter else { return false }
            place = next
        }
        return true
    }

    private func walk(_ path: ArraySlice<UInt8>, _ parameters: inout [String]) -> Int? {
        guard path.first == UInt8(ascii: "/") else { return nil }
        var place = 0
        var start = path.startIndex + 1
        while true {
            let end = path[start...].firstIndex(of: UInt8(ascii: "/")) ?? path.endIndex
            guard end > start, let next = step(from: place, path[start..<end], &parameters) else { return nil }
            place = next
            if end == path.endIndex { return place }
            start = end + 1
        }
    }

    private func step(from place: Int, _ part: ArraySlice<UInt8>, _ parameters: inout [String]) -> Int? {
        for literal in nodes[place].literals where part.elementsEqual(literal.name) { return literal.node }
        guard let next = nodes[place].parameter,
            let text = try? PercentCoding.decode(part, offset: 0, plusIsBlank: false),
            !text.utf8.contains(where: { $0 < 0x20 || $0 == 0x7F })
        else { return nil }
        parameters.append(text)
        return next
    }
}
