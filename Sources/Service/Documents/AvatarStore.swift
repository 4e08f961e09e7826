package import EventLoops
import Store

/// Pictures of agents, stored only by Ladle.
package final class AvatarStore {
    package enum Change: Sendable {
        case done
        /// The condition did not hold; `current` is the tag of the stored picture.
        case moved(current: String?)
    }

    private static let space = "avatars"

    private let feed: EventFeed

    init(feed: EventFeed) {
        self.feed = feed
    }

    /// Reads the picture; nil if there is none.
    package func read(_ agent: String, on loop: isolated EventLoop) async throws -> [UInt8]? {
        try await feed.read(on: loop) { tables in try tables.values.get(space: Self.space, name: agent)?.bytes }
    }

    /// Reads, compares and replaces in one transaction, so that no reader sees half a change.
    /// - Parameters:
    ///   - bytes: nil to remove the picture.
    ///   - condition: whether a picture with this tag may be replaced; nil means that there is none.
    package func change(
        _ agent: String,
        to bytes: [UInt8]?,
        if condition: @escaping @Sendable (_ current: String?) -> Bool,
        on loop: isolated EventLoop
    ) async throws -> Change {
        try await feed.commit(cost: bytes?.count ?? 0, on: loop) { transaction -> Change in
            let current = try transaction.values.get(space: Self.space, name: agent)
            let tag = current.map { DocumentService.tag(of: $0.bytes) }
            guard condition(tag) else { return .moved(current: tag) }
            if let bytes {
                try transaction.values.set(bytes, space: Self.space, name: agent, at: transaction.now)
            } else {
                try transaction.values.remove(space: Self.space, name: agent)
            }
            return .done
        }
    }
}
