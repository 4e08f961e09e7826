package import Access
package import Basics
package import EventLoops
import Store

/// The token rows in the database.
package final class TokenRows {
    package typealias Completion = (Result<Void, any Error>) -> Void

    private let feed: EventFeed

    init(feed: EventFeed) {
        self.feed = feed
    }

    /// Saves a new token, or one with a new secret: its one-tap links were made with the old one, and end. A new secret has room on a
    /// full disk like a revocation, because it ends the old one.
    package func save(
        _ record: TokenRecord,
        isRotation: Bool,
        on loop: isolated EventLoop,
        completion: @escaping Completion
    ) {
        feed.commit(isUrgent: isRotation, on: loop) {
            try $0.tokens.save(record)
            try $0.approvals.dropLinks(of: record.id)
        } completion: {
            completion($0)
        }
    }

    package func delete(_ id: String, on loop: isolated EventLoop, completion: @escaping Completion) {
        feed.commit(isUrgent: true, on: loop) {
            try $0.tokens.delete(id)
            try $0.approvals.dropLinks(of: id)
        } completion: {
            completion($0)
        }
    }

    /// Writes the tokens' last uses. A failure is harmless: no caller waits for it.
    package func touch(_ uses: [String: Timestamp], on loop: isolated EventLoop) {
        feed.commit(on: loop) {
            try $0.tokens.touch(uses)
        } completion: { _ in
        }
    }
}
