package import JSONBytes

package struct AgentsList: GatewayCall {
    package struct Agent: Sendable {
        package let id: String
        package let name: String?
        package let emoji: String?
        package let avatar: String?
    }

    package struct Output: Sendable {
        package let defaultId: String?
        package let mainKey: String?
        package let agents: [Agent]
    }

    package static let method = "agents.list"
    package init() {}
    package func writeParams(to writer: inout JSONWriter) {}

    package static func output(from payload: JSONValue) throws(GatewayShapeError) -> Output {
        guard let rows = payload["agents"], rows.kind == .array else {
            throw GatewayShapeError(method: method, missing: "agents")
        }
        let agents = rows.elements.compactMap { row -> Agent? in
            guard let id = row["id"]?.string else { return nil }
            let identity = row["identity"]
            return Agent(
                id: id,
                name: row["name"]?.string ?? identity?["name"]?.string,
                emoji: identity?["emoji"]?.string,
                avatar: identity?["avatar"]?.string
            )
        }
        return Output(defaultId: payload["defaultId"]?.string, mainKey: payload["mainKey"]?.string, agents: agents)
    }
}

/// One of the files that define an agent.
package struct AgentFile: Sendable {
    package let name: String
    package let missing: Bool
    /// The newest gateways: it is missing by design, as an agent's user file where each person has one of their own.
    package let isExpectedAbsent: Bool
    package let content: String?
    /// Newer gateways: the content's SHA-256, for conditional writes.
    package let hash: String?

    init?(_ file: JSONValue) {
        guard let name = file["name"]?.string else { return nil }
        self.name = name
        missing = file["missing"]?.bool ?? false
        isExpectedAbsent = missing && file["expectedAbsent"]?.bool == true
        content = file["content"]?.string
        hash = file["hash"]?.string
    }
}

/// Reads a file. For a missing file the call succeeds with `missing`.
package struct AgentsFilesGet: GatewayCall {
    package static let method = "agents.files.get"
    package var agentId: String
    package var name: String

    package init(agentId: String, name: String) {
        self.agentId = agentId
        self.name = name
    }

    package func writeParams(to writer: inout JSONWriter) {
        writer.member("agentId", agentId)
        writer.member("name", name)
    }

    package static func output(from payload: JSONValue) throws(GatewayShapeError) -> AgentFile {
        guard let file = payload["file"].flatMap({ AgentFile($0) }) else {
            throw GatewayShapeError(method: method, missing: "file")
        }
        return file
    }
}

/// Overwrites a whole file; needs `operator.admin`.
package struct AgentsFilesSet: GatewayCall {
    /// The required state of the file; otherwise the gateway refuses. Older gateways send no hashes and refuse calls
    /// with this member.
    package enum Guard: Sendable, Equatable {
        case hash(String)
        case missing
    }

    package static let method = "agents.files.set"
    package var agentId: String
    package var name: String
    package var content: String
    package var expected: Guard?

    package init(agentId: String, name: String, content: String, expected: Guard? = nil) {
        self.agentId = agentId
        self.name = name
        self.content = content
        self.expected = expected
    }

    package func writeParams(to writer: inout JSONWriter) {
        writer.member("agentId", agentId)
        writer.member("name", name)
        writer.member("content", content)
        switch expected {
        case .hash(let hash): writer.member("expectedHash", hash)
        case .missing: writer.member("expectedMissing", true)
        case nil: break
        }
    }

    package static func output(from payload: JSONValue) throws(GatewayShapeError) -> AgentFile? {
        payload["file"].flatMap { AgentFile($0) }
    }
}

/// A write came too late: the file is not the one that was expected.
package struct AgentFileConflict: Sendable, Equatable {
    /// The present content's SHA-256; nil if the file is missing, or the gateway does not say.
    package let hash: String?
}

extension GatewayError {
    /// Nil for every other error.
    package var fileConflict: AgentFileConflict? {
        guard details?["type"]?.equals("agent_file_conflict") == true else { return nil }
        return AgentFileConflict(hash: details?["currentHash"]?.identifier)
    }
}
