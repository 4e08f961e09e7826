import Basics
package import Documents
package import EventLoops
import Gateway
import JSONBytes
import Upstream

/// One change of a file: reads the current version, checks the caller's condition, writes, and reads the file back.
package struct DocumentWrite {
    package enum Change {
        case fields(FieldPatch)
        case whole([UInt8])
    }

    /// The way a write reached the gateway: by its file call or through the chat.
    package enum Path: String {
        case rpc
        case chat
    }

    /// The agent itself may write between the read and the write; the change is then applied again to the new version.
    private static let attempts = 3

    private let documents: DocumentService
    private let name: DocumentService.Name
    private let change: Change
    private let condition: DocumentCondition

    package init(
        _ documents: DocumentService,
        _ name: DocumentService.Name,
        _ change: Change,
        if condition: DocumentCondition
    ) {
        self.documents = documents
        self.name = name
        self.change = change
        self.condition = condition
    }

    /// - Returns: the file as it is now, and the way of the write; nil if nothing had to be written.
    package func carryOut(
        on loop: isolated EventLoop
    ) async throws(DocumentFault) -> (DocumentService.Copy, Path?) {
        await documents.turns.begin(name, on: loop)
        defer { documents.turns.end(name) }
        for attempt in 1... {
            let isLast = attempt == Self.attempts
            let current = try await documents.fetch(name, on: loop)
            let wanted = try wantedBytes(over: current)
            // Unchanged bytes need no write and no scope, except to create an empty file.
            if wanted == current.bytes, !current.isMissing || isOfFields { return (current, nil) }
            guard let path = try await set(wanted, over: current, isLast: isLast, on: loop) else { continue }
            let copy = try await documents.fetch(name, on: loop)
            if copy.bytes == wanted || isAsWanted(copy, path, wanted) { return (copy, path) }
            if isLast || path == .chat || !isOfFields { break }
        }
        throw .writeNotSeen(name.kind)
    }

    /// - Returns: nil if the file changed since it was read, so that the change has to be applied again on top.
    private func set(
        _ wanted: [UInt8],
        over current: DocumentService.Copy,
        isLast: Bool,
        on loop: isolated EventLoop
    ) async throws(DocumentFault) -> Path? {
        let content = String(decoding: wanted, as: UTF8.self)
        let expected: AgentsFilesSet.Guard? =
            current.isMissing && documents.hasGuards ? .missing : current.hash.map { .hash($0) }
        let call = AgentsFilesSet(agentId: name.agent, name: name.kind.fileName, content: content, expected: expected)
        do throws(CallFailure) {
            _ = try await documents.gateway.call(call, on: loop)
            return .rpc
        } catch {
            if documents.mayAskByChat, error.isMissingScope {
                try await ask(content, on: loop)
                return .chat
            }
            if expected != nil, error.isRefusal, !isLast { return nil }
            if let conflict = error.fileConflict { throw .conflict(name.kind, hash: conflict.hash) }
            throw .gateway(GatewayFault(error, over: documents.gateway), about: name.kind.fileName)
        }
    }

    /// The last resort, if the configuration allows it: asks the agent itself to write the file.
    private func ask(_ content: String, on loop: isolated EventLoop) async throws(DocumentFault) {
        let mark = Housekeeping.fileRequestMark
        let request = SyncFrame.writeRequest(name.kind, markdown: content, firstLine: mark)
        _ = try await loop.wait { documents.asker.ask(request, agent: name.agent, on: loop, then: $0) }.get()
    }

    private func wantedBytes(over current: DocumentService.Copy) throws(DocumentFault) -> [UInt8] {
        let tag = DocumentService.tag(of: current.bytes)
        // For the condition, a missing file counts as an empty one.
        guard condition.matches(tag) else {
            throw .moved(name.kind, current: current, change, base: documents.formerFields(name, condition))
        }
        switch change {
        case .whole(let bytes): return bytes
        case .fields(let patch):
            let document = FieldDocument(kind: name.kind, bytes: current.bytes)
            do throws(FieldError) {
                return try document.edited(patch.changes)
            } catch {
                throw .field(error)
            }
        }
    }

    private var isOfFields: Bool { if case .fields = change { true } else { false } }

    /// Whether the file holds the wanted content. Someone may have added to it since, and an agent asked by chat may
    /// word it differently, so only the fields are compared; a whole file is compared up to blank lines at its end.
    private func isAsWanted(
        _ copy: DocumentService.Copy,
        _ path: Path,
        _ wanted: [UInt8]
    ) -> Bool {
        guard case .fields(let patch) = change else {
            return path == .chat && Self.trimmed(copy.bytes).elementsEqual(Self.trimmed(wanted))
        }
        let fields = FieldDocument(kind: name.kind, bytes: copy.bytes).fields
        return patch.changes.allSatisfy { (fields[$0.key] ?? "").isSameText(as: $0.value) }
    }

    private static func trimmed(_ bytes: [UInt8]) -> ArraySlice<UInt8> {
        var rest = bytes[...]
        while let last = rest.last, last == 0x0A || last == 0x0D || last == 0x20 { rest.removeLast() }
        return rest
    }
}
