package import EventLoops
import Gateway
import Ledger
import Runs
import TLS

/// Reads the agent's messages aloud through the gateway. A recording costs its owner money and takes seconds, so readers of the same text
/// share one, and the last ones are kept for a while.
package final class SpeechService {
    package enum Fault: Error {
        /// The agent said nothing under this id.
        case noMessage
        /// The message has no words: it failed, or is a file.
        case noText
        case tooLong(bytes: Int, limit: Int)
        /// The recording is larger than Ladle passes on.
        case tooLarge(bytes: Int, limit: Int)
        /// As many recordings are made as may be at one time.
        case busy
        case reading(ServiceFault)
        case gateway(GatewayFault)
    }

    /// A message of the agent that can be read aloud.
    package struct Words {
        fileprivate let text: String
        /// The digest of the text, by which recordings are found.
        fileprivate let name: [UInt8]
    }

    private struct Recording {
        let text: [UInt8]
        let bytes: [UInt8]
    }

    /// The longest text, in bytes: more than an hour of speech. The gateway's own limit is far lower.
    package static let longestText = 64 << 10
    package static let mostBytes = 16 << 20
    private static let mostAtOnce = 4
    /// Of these, those of one caller beside the owner. Of all such callers together one is left for the owner.
    private static let mostOfCaller = 2
    /// All recordings that are kept, in bytes.
    private static let mostKept = 4 << 20

    private struct Order {
        /// The caller that asked first; nil for the owner.
        let caller: String?
        var completions: [(Result<[UInt8], GatewayFault>) -> Void] = []
    }

    private unowned let gateway: any GatewayCalls
    private let messages: MessagePages
    /// The last used one at the end.
    private var kept: [Recording] = []
    private var orders: [[UInt8]: Order] = [:]

    init(gateway: any GatewayCalls, messages: MessagePages) {
        self.gateway = gateway
        self.messages = messages
    }

    /// - Parameter session: the canonical key.
    package func words(
        of id: String,
        in session: String,
        on loop: isolated EventLoop
    ) async throws(Fault) -> Words {
        if let fault = gateway.obstacle(to: .speech) { throw .gateway(fault) }
        let text = try await text(of: id, in: session, on: loop)
        return Words(text: text, name: Digest.sha256(Array(text.utf8)))
    }

    /// Whether a recording has to be made, for which there is a turn: none is kept, and none is being made.
    /// - Parameter caller: whose share it counts for; nil for the owner.
    package func isNew(_ words: Words, for caller: String?) throws(Fault) -> Bool {
        if orders[words.name] != nil || kept.contains(where: { $0.text == words.name }) { return false }
        guard hasRoom(for: caller) else { throw .busy }
        return true
    }

    /// Called in the same turn of the loop as `isNew`, so nothing has changed in between.
    package func speak(_ words: Words, for caller: String?, on loop: isolated EventLoop) async throws(Fault) -> [UInt8]
    {
        if let place = kept.firstIndex(where: { $0.text == words.name }) {
            kept.append(kept.remove(at: place))
            return kept[kept.count - 1].bytes
        }
        switch await loop.wait(for: { ask(words, for: caller, on: loop, completion: $0) }) {
        case .success(let bytes) where bytes.count > Self.mostBytes:
            throw .tooLarge(bytes: bytes.count, limit: Self.mostBytes)
        case .success(let bytes): return bytes
        case .failure(let fault): throw .gateway(fault)
        }
    }

    private func hasRoom(for caller: String?) -> Bool {
        guard orders.count < Self.mostAtOnce else { return false }
        guard let caller else { return true }
        let others = orders.values.count(where: { $0.caller != nil })
        return others < Self.mostAtOnce - 1 && orders.values.count(where: { $0.caller == caller }) < Self.mostOfCaller
    }

    private func text(of id: String, in session: String, on loop: isolated EventLoop) async throws(Fault) -> String {
        let found: ChatMessage?
        do throws(ServiceFault) {
            found = try await messages.find(id, in: session, on: loop)
        } catch {
            throw .reading(error)
        }
        guard let message = found, message.role == .assistant else { throw .noMessage }
        guard !message.text.allSatisfy(\.isWhitespace) else { throw .noText }
        let size = message.text.utf8.count
        guard size <= Self.longestText, !message.isTruncated else {
            throw .tooLong(bytes: size, limit: Self.longestText)
        }
        return message.text
    }

    private func ask(
        _ words: Words,
        for caller: String?,
        on loop: isolated EventLoop,
        completion: @escaping (Result<[UInt8], GatewayFault>) -> Void
    ) {
        let name = words.name
        orders[name, default: Order(caller: caller)].completions.append(completion)
        guard orders[name]?.completions.count == 1 else { return }
        gateway.control(TextToSpeech(text: words.text), needing: .speech, on: loop) { [self] result in
            if case .success(let bytes) = result { keep(Recording(text: name, bytes: bytes)) }
            for completion in orders.removeValue(forKey: name)?.completions ?? [] { completion(result) }
        }
    }

    /// A recording that would take the place of all others is not kept.
    private func keep(_ recording: Recording) {
        guard recording.bytes.count <= Self.mostKept / 4 else { return }
        kept.append(recording)
        while kept.reduce(0, { $0 + $1.bytes.count }) > Self.mostKept { kept.removeFirst() }
    }
}
