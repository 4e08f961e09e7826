import Basics
package import Documents
package import EventLoops
import Gateway
import JSONBytes
import Upstream

/// One change of a file: reads the current version, checks the caller's condition, writes, and reads the file back.
package final class DocumentWrite {
    package enum Change {
        case fields(FieldPatch)
        case whole([UInt8])
    }

    /// The way a write reached the gateway: by its file call or through the chat.
    package enum Path: String {
        case rpc
        case chat
    }

    package typealias Outcome = Result<(DocumentService.Copy, Path?), DocumentFault>

    /// The agent itself may write between the read and the write; the change is then applied again to the new version.
    private static let attempts = 3

    private let documents: DocumentService
    private let name: DocumentService.Name
    private let change: Change
    private let condition: DocumentCondition
    private let done: (Outcome) -> Void
    private var next: (() -> Void)?
    private var attempt = 0

    package init(
        _ documents: DocumentService,
        _ name: DocumentService.Name,
        _ change: Change,
        if condition: DocumentCondition,
        then done: @escaping (Outcome) -> Void
    ) {
        self.documents = documents
        self.name = name
        self.change = change
        self.condition = condition
        self.done = done
    }

    package func start(on loop: isolated EventLoop) {
        documents.inTurn(name) { next in
            self.next = next
            self.write(on: loop)
        }
    }

    private func finish(_ outcome: Outcome) {
        done(outcome)
        next?()
        next = nil
    }

    private func write(on loop: isolated EventLoop) {
        attempt += 1
        documents.fetch(name, on: loop) { result in
            switch result {
            case .failure(let problem): self.finish(.failure(problem))
            case .success(let current): self.write(over: current, on: loop)
            }
        }
    }

    private func write(over current: DocumentService.Copy, on loop: isolated EventLoop) {
        do throws(DocumentFault) {
            let wanted = try wantedBytes(over: current)
            // Unchanged bytes need no write and no scope, except to create an empty file.
            if wanted == current.bytes, !current.isMissing || isOfFields { return finish(.success((current, nil))) }
            set(wanted, over: current, on: loop)
        } catch {
            finish(.failure(error))
        }
    }

    private var isOfFields: Bool { if case .fields = change { true } else { false } }

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

    private func set(_ wanted: [UInt8], over current: DocumentService.Copy, on loop: isolated EventLoop) {
        let content = String(decoding: wanted, as: UTF8.self)
        let expected: AgentsFilesSet.Guard? =
            current.isMissing && documents.hasGuards ? .missing : current.hash.map { .hash($0) }
        let call = AgentsFilesSet(agentId: name.agent, name: name.kind.fileName, content: content, expected: expected)
        documents.gateway.call(call, on: loop) { (result: Result<AgentFile?, CallFailure>) in
            guard case .failure(let failure) = result else { return self.check(wanted, path: .rpc, on: loop) }
            if self.documents.mayAskByChat, failure.isMissingScope { return self.ask(content, wanted, on: loop) }
            // The file changed since it was read, so the change is applied again on top.
            if expected != nil, failure.isRefusal, self.attempt < Self.attempts { return self.write(on: loop) }
            let fault = GatewayFault(failure, over: self.documents.gateway)
            self.finish(.failure(.gateway(fault, about: self.name.kind.fileName)))
        }
    }

    /// The last resort, if the configuration allows it: asks the agent itself to write the file.
    private func ask(_ content: String, _ wanted: [UInt8], on loop: isolated EventLoop) {
        let request = SyncFrame.writeRequest(
            name.kind,
            markdown: content,
            firstLine: Housekeeping.fileRequestMark
        )
        documents.asker.ask(request, agent: name.agent, on: loop) { (answer: Result<String, DocumentFault>) in
            switch answer {
            case .failure(let problem): self.finish(.failure(problem))
            case .success: self.check(wanted, path: .chat, on: loop)
            }
        }
    }

    private func check(_ wanted: [UInt8], path: Path, on loop: isolated EventLoop) {
        documents.fetch(name, on: loop) { result in
            switch result {
            case .failure(let problem): self.finish(.failure(problem))
            case .success(let copy): self.compare(copy, with: wanted, path, on: loop)
            }
        }
    }

    private func compare(
        _ copy: DocumentService.Copy,
        with wanted: [UInt8],
        _ path: Path,
        on loop: isolated EventLoop
    ) {
        if copy.bytes == wanted || isAsWanted(copy, path, wanted) { return finish(.success((copy, path))) }
        if attempt < Self.attempts, case .fields = change, path == .rpc { return write(on: loop) }
        finish(.failure(.writeNotSeen(name.kind)))
    }

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
