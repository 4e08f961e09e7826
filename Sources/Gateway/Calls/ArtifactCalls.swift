import Basics
package import JSONBytes

/// A file or picture that came of a session's runs, as the gateway lists it.
package struct ArtifactRow: Sendable {
    /// The way to its bytes.
    package enum Source: Sendable {
        case bytes
        /// They stand at an address, which Ladle does not ask.
        case address
        case none
    }

    /// The complete id, never cut.
    package let id: String
    package let kind: String
    package let title: String
    package let mimeType: String?
    package let sizeBytes: Int64?
    package let runId: String?
    package let source: Source

    init?(_ value: JSONValue) {
        guard let id = value["id"]?.visibleIdentifier else { return nil }
        self.id = id
        kind = value["type"]?.identifier ?? "file"
        title = value["title"]?.string ?? ""
        mimeType = value["mimeType"]?.identifier
        sizeBytes = value["sizeBytes"]?.int.flatMap { $0 < 0 ? nil : $0 }
        runId = value["runId"]?.identifier
        source =
            switch value["download"]?["mode"]?.string {
            case "bytes": .bytes
            case "url": .address
            default: .none
            }
    }
}

/// Lists what came of one session's runs.
package struct ArtifactsList: GatewayCall {
    package static let method = "artifacts.list"
    package var sessionKey: String

    package init(sessionKey: String) { self.sessionKey = sessionKey }

    package func writeParams(to writer: inout JSONWriter) { writer.member("sessionKey", sessionKey) }

    package static func output(from payload: JSONValue) throws(GatewayShapeError) -> [ArtifactRow] {
        guard let rows = payload["artifacts"], rows.kind == .array else {
            throw GatewayShapeError(method: method, missing: "artifacts")
        }
        return rows.elements.prefix(GatewayLimits.artifacts).compactMap { ArtifactRow($0) }
    }
}

/// Reads the bytes of one of them.
package struct ArtifactsDownload: GatewayCall {
    package static let method = "artifacts.download"
    /// As large as a frame of the gateway can carry.
    package var timeoutMs: Int64 { 120_000 }
    package var sessionKey: String
    package var id: String

    package init(sessionKey: String, id: String) {
        self.sessionKey = sessionKey
        self.id = id
    }

    package func writeParams(to writer: inout JSONWriter) {
        writer.member("sessionKey", sessionKey)
        writer.member("artifactId", id)
    }

    /// Nil if the gateway names an address instead.
    package static func output(from payload: JSONValue) throws(GatewayShapeError) -> [UInt8]? {
        guard let text = payload["data"]?.string else {
            if payload["url"] != nil { return nil }
            throw GatewayShapeError(method: method, missing: "data")
        }
        guard let bytes = Base64.decode(text, as: .standard) else {
            throw GatewayShapeError(method: method, missing: "data in base 64")
        }
        return bytes
    }
}
