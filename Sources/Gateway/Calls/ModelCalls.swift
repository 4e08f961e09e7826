package import JSONBytes

/// The models that the gateway can use. A process's first call may load the catalogue, which takes seconds.
package struct ModelsList: GatewayCall {
    package struct Model: Sendable, Equatable {
        package let id: String
        package let name: String?
        package let provider: String
        package let alias: String?
        package let contextWindow: Int64?
        package let reasoning: Bool?
        package let available: Bool?

        init?(_ row: JSONValue) {
            guard let id = row["id"]?.wholeIdentifier, let provider = row["provider"]?.wholeIdentifier else {
                return nil
            }
            self.id = id
            self.provider = provider
            name = row["name"]?.string
            alias = row["alias"]?.string
            contextWindow = row["contextWindow"]?.int.flatMap { $0 > 0 ? $0 : nil }
            reasoning = row["reasoning"]?.bool
            available = row["available"]?.bool
        }
    }

    package enum View: String, Sendable, CaseIterable {
        case `default`, configured, all
    }

    package static let method = "models.list"
    package var view: View?

    package init(view: View?) { self.view = view }

    package func writeParams(to writer: inout JSONWriter) { writer.member("view", view?.rawValue) }

    package static func output(from payload: JSONValue) throws(GatewayShapeError) -> [Model] {
        guard let rows = payload["models"], rows.kind == .array else {
            throw GatewayShapeError(method: method, missing: "models")
        }
        return rows.elements.prefix(GatewayLimits.models).compactMap { Model($0) }
    }
}

/// The default model of sessions. All releases return it with the sessions, none with the models.
package struct DefaultModel: GatewayCall {
    package struct Name: Sendable, Equatable {
        package let provider: String
        package let id: String
    }

    package static let method = SessionsList.method
    package init() {}
    package func writeParams(to writer: inout JSONWriter) { writer.member("limit", 1) }

    package static func output(from payload: JSONValue) throws(GatewayShapeError) -> Name? {
        guard let defaults = payload["defaults"], let provider = defaults["modelProvider"]?.wholeIdentifier,
            let id = defaults["model"]?.wholeIdentifier
        else { return nil }
        return Name(provider: provider, id: id)
    }
}
