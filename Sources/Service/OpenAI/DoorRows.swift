package import Basics
package import EventLoops
import Store

/// Small records that clients of the OpenAI door come back to: responses, requests that may be repeated, conversations. Their form is the
/// caller's; here they are bytes with a name.
package final class DoorRows {
    package enum Space: String, Sendable, CaseIterable {
        case responses = "openai.response"
        case requests = "openai.request"
        case turns = "openai.turn"
        case conversations = "openai.conversation"

        /// As long as runs are kept, or as long as somebody may go on with a chat.
        fileprivate var days: Int64 {
            switch self {
            case .requests: 1
            case .responses: 7
            case .turns, .conversations: 90
            }
        }
    }

    package struct Row: Sendable {
        package let space: Space
        package let name: String
        package let bytes: [UInt8]
        /// If there is a row of this name with other bytes, it becomes an empty one.
        package var yieldsToOther = false

        package init(_ space: Space, _ name: String, _ bytes: [UInt8]) {
            self.space = space
            self.name = name
            self.bytes = bytes
        }
    }

    /// The most rows of each kind; beyond it the oldest go.
    private static let most = 20_000
    private static let trimMilliseconds: Int64 = 3_600_000

    private let feed: EventFeed
    private var isTrimming = false

    init(feed: EventFeed) { self.feed = feed }

    /// The bytes, and when they were written; nil if there are none.
    package func read(
        _ space: Space,
        _ name: String,
        on loop: isolated EventLoop
    ) async throws -> (bytes: [UInt8], at: Timestamp)? {
        try await feed.read(on: loop) { tables in
            try tables.values.get(space: space.rawValue, name: name).map { (bytes: $0.bytes, at: $0.updatedAt) }
        }
    }

    /// Writes rows. Text of runs does not wait for them.
    /// - Parameter completion: called with the bytes of each that are on disk now, or nil if the disk failed.
    package func write(
        _ rows: [Row],
        on loop: isolated EventLoop,
        completion: @escaping ([[UInt8]]?) -> Void = { _ in }
    ) {
        trimLater(on: loop)
        let done = LoopBound(completion, on: loop)
        let cost = rows.reduce(0) { $0 + $1.bytes.count + 256 }
        feed.journal.commit(cost: cost, isUrgent: false) { transaction in
            try rows.map { row in
                let (space, values) = (row.space.rawValue, transaction.values)
                let known = row.yieldsToOther ? try values.get(space: space, name: row.name)?.bytes : nil
                let bytes = known == nil || known == row.bytes ? row.bytes : []
                try values.set(bytes, space: space, name: row.name, at: transaction.now)
                return bytes
            }
        } completion: { [weak loop] result, _ in
            let bytes = try? result.get()
            loop?.post { loop in done.value(on: loop)?(bytes) }
        }
    }

    package func remove(_ space: Space, _ name: String, on loop: isolated EventLoop) async throws {
        try await feed.commit(on: loop) { transaction in
            try transaction.values.remove(space: space.rawValue, name: name)
        }
    }

    /// Removes old rows an hour from now, so that a door which nobody uses does nothing.
    private func trimLater(on loop: isolated EventLoop) {
        guard !isTrimming else { return }
        isTrimming = true
        loop.after(milliseconds: Self.trimMilliseconds) { [weak self] in
            guard let self else { return }
            self.isTrimming = false
            let now = loop.wallClock
            self.feed.journal.cache { transaction in
                for space in Space.allCases {
                    let oldest = now.adding(milliseconds: -space.days * 86_400_000)
                    try transaction.values.trim(space: space.rawValue, before: oldest, keeping: Self.most)
                }
            }
        }
    }
}

extension DoorRows {
    static func save(_ rows: [Row], in transaction: inout StoreTransaction) throws {
        for row in rows {
            try transaction.values.set(row.bytes, space: row.space.rawValue, name: row.name, at: transaction.now)
        }
    }
}
