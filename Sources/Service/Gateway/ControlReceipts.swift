package import EventLoops
import Store
import TLS

/// The Idempotency-Keys of requests that act on the gateway at once. A key is on disk before the frame leaves, so a
/// repeat never sends a second frame, not even after a restart.
package final class ControlReceipts {
    /// A key, with its caller and operation, and the request it was used for.
    package struct Claim: Sendable {
        fileprivate let scope: String
        fileprivate let key: String
        fileprivate let hash: [UInt8]

        package init(scope: String, key: String, meaning: [UInt8]) {
            self.scope = scope
            self.key = key
            hash = Digest.sha256(meaning)
        }

        fileprivate var name: String { "\(scope)\n\(key)" }
        fileprivate var stored: ReceiptTable.Claim { ReceiptTable.Claim(scope: scope, key: key, bodyHash: hash) }
    }

    package enum Finding {
        /// The key is new: `finish` must follow.
        case first
        /// The stored answer of the first request.
        case repeated([UInt8])
        /// The first request failed before a frame was sent.
        case notSent
        /// The process that sent the frame ended before the answer came.
        case lost
        /// The key was used for a different request.
        case reused
    }

    package typealias Completion = (Result<Finding, any Error>) -> Void

    private struct Open {
        let hash: [UInt8]
        /// Repeats of the request while it is in progress.
        var waiting: [Completion] = []
    }

    private let feed: EventFeed
    private var open: [String: Open] = [:]

    init(feed: EventFeed) { self.feed = feed }

    package func begin(_ claim: Claim, on loop: isolated EventLoop, completion: @escaping Completion) {
        if let known = open[claim.name] {
            guard known.hash == claim.hash else { return lookUp(claim, on: loop, completion) }
            open[claim.name]?.waiting.append(completion)
            return
        }
        open[claim.name] = Open(hash: claim.hash)
        feed.commit(on: loop) { transaction -> ReceiptTable.Finding in
            let found = try transaction.receipts.find(claim.stored, now: transaction.now)
            if found == .free { try transaction.receipts.record(claim.stored, entry: "", now: transaction.now) }
            return found
        } completion: { [self] result in
            switch result {
            case .success(.free): completion(.success(.first))
            case .success(.other): end(claim, .success(.reused), completion)
            case .success(.same(let answer)): end(claim, .success(Self.known(answer)), completion)
            case .failure(let error): end(claim, .failure(error), completion)
            }
        }
    }

    /// A request other than the open one, which itself may be the wrong one. The writes are in order, so the answer is
    /// the one that the disk gives after the open request.
    private func lookUp(_ claim: Claim, on loop: isolated EventLoop, _ completion: @escaping Completion) {
        feed.commit(on: loop) { transaction in
            try transaction.receipts.find(claim.stored, now: transaction.now)
        } completion: { result in
            completion(
                result.map { finding in
                    switch finding {
                    case .same(let answer): Self.known(answer)
                    case .other: .reused
                    // The open request ended before anything was sent.
                    case .free: .notSent
                    }
                }
            )
        }
    }

    private static func known(_ answer: String) -> Finding { answer.isEmpty ? .lost : .repeated(Array(answer.utf8)) }

    /// - Parameters:
    ///   - answer: the text repeats get; nil if nothing was sent, so that the key can be used again.
    ///   - completion: comes once the answer is on disk, or the disk failed: the action itself stays done.
    package func finish(
        _ claim: Claim,
        _ answer: [UInt8]?,
        on loop: isolated EventLoop,
        completion: @escaping () -> Void
    ) {
        feed.commit(cost: 1024 + (answer?.count ?? 0), on: loop) { transaction in
            if let answer {
                let text = String(decoding: answer, as: UTF8.self)
                try transaction.receipts.record(claim.stored, entry: text, now: transaction.now)
            } else {
                try transaction.receipts.forget(claim.stored)
            }
        } completion: { [self] (_: Result<Void, any Error>) in
            end(claim, .success(answer.map { .repeated($0) } ?? .notSent)) { _ in completion() }
        }
    }

    private func end(_ claim: Claim, _ result: Result<Finding, any Error>, _ first: Completion) {
        let waiting = open.removeValue(forKey: claim.name)?.waiting ?? []
        first(result)
        for completion in waiting { completion(result) }
    }
}
