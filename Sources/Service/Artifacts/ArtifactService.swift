import Basics
package import EventLoops
import Gateway
package import JSONBytes
import Ledger

/// A file or picture that came of a session's runs. Its texts are safe to show.
package struct Artifact: Sendable, JSONWritable {
    package let id: String
    package let kind: String
    package let title: String
    /// As the gateway says; a download has the type that its bytes show.
    let mimeType: String?
    let bytes: Int64?
    let runID: String?
    let source: ArtifactRow.Source

    /// In bytes: a title is one line.
    private static let longestTitle = 256

    init(_ row: ArtifactRow, run: String?) {
        id = row.id
        kind = Printable.escaped(row.kind, limit: Self.longestTitle).text
        title = Printable.escaped(HostPaths.removed(from: row.title), limit: Self.longestTitle).text
        mimeType = row.mimeType.map { Printable.escaped($0, limit: Self.longestTitle).text }
        bytes = row.sizeBytes
        runID = run
        source = row.source
    }

    package func write(to writer: inout JSONWriter) {
        writer.object { object in
            object.member("id", id)
            object.member("kind", kind)
            object.member("title", title)
            object.member("mimeType", mimeType)
            object.member("bytes", bytes)
            object.member("runId", runID)
            object.member("downloadable", source == .bytes && bytes.map { $0 <= ArtifactService.mostBytes } ?? true)
        }
    }
}

/// Files and pictures that came of the agent's runs. The gateway is asked each time: it has them, and Ladle keeps no copy.
package final class ArtifactService {
    package enum Fault: Error {
        case notFound
        /// The gateway names an address in place of the bytes; Ladle asks no address that others name.
        case elsewhere
        case tooLarge(bytes: Int64, limit: Int64)
        /// The caller has no room for it.
        case noRoom
        case gateway(GatewayFault)
    }

    /// A frame of the gateway can carry little more in base 64.
    package static let mostBytes: Int64 = 16 << 20

    private unowned let gateway: any GatewayCalls
    private let runs: RunService

    init(gateway: any GatewayCalls, runs: RunService) {
        self.gateway = gateway
        self.runs = runs
    }

    /// - Parameter session: the canonical key.
    package func list(_ session: String, on loop: isolated EventLoop) async throws(GatewayFault) -> [Artifact] {
        let rows = try await gateway.control(ArtifactsList(sessionKey: session), needing: .artifacts, on: loop)
        return rows.map { row in
            Artifact(row, run: row.runId.map { Printable.escaped(runs.resolved($0)).text })
        }
    }

    /// The bytes of one artifact of this session: the list decides whether it is of the session, not the gateway's download.
    /// - Parameter hasRoom: whether the caller can take so many bytes. One that it cannot take is not asked for.
    package func download(
        _ id: String,
        of session: String,
        if hasRoom: (Int64) -> Bool,
        on loop: isolated EventLoop
    ) async throws(Fault) -> (artifact: Artifact, bytes: [UInt8]) {
        let listed: [Artifact]
        do throws(GatewayFault) { listed = try await list(session, on: loop) } catch { throw .gateway(error) }
        guard let artifact = listed.first(where: { $0.id == id }) else { throw .notFound }
        guard artifact.source == .bytes else { throw .elsewhere }
        if let size = artifact.bytes { try check(size) }
        guard hasRoom(artifact.bytes ?? Self.mostBytes) else { throw .noRoom }
        let call = ArtifactsDownload(sessionKey: session, id: id)
        let found: [UInt8]?
        do throws(GatewayFault) {
            found = try await gateway.control(call, needing: .artifacts, on: loop)
        } catch {
            throw .gateway(error)
        }
        guard let bytes = found else { throw .elsewhere }
        try check(Int64(bytes.count))
        return (artifact, bytes)
    }

    private func check(_ bytes: Int64) throws(Fault) {
        guard bytes <= Self.mostBytes else { throw .tooLarge(bytes: bytes, limit: Self.mostBytes) }
    }
}
