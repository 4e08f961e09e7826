package import EventLoops
package import EventStream
import Store

/// Reads the log of durable events.
package final class EventReader {
    package struct Page {
        package let events: [StreamEvent]
        /// The start of the next page; it may lie past the last event of this one.
        package let next: EventID
        /// The log has nothing behind `next`.
        package let isEnd: Bool

        package init(events: [StreamEvent], next: EventID, isEnd: Bool) {
            (self.events, self.next, self.isEnd) = (events, next, isEnd)
        }
    }

    package enum Reading {
        case page(Page)
        /// The cursor is not in the log, or no longer: retention can overtake a slow reader.
        case outside(EventLogBounds)
    }

    private let feed: EventFeed

    init(feed: EventFeed) {
        self.feed = feed
    }

    /// The position from which a stream with this cursor starts.
    package func position(after cursor: EventID, on loop: isolated EventLoop) async throws -> ResumePosition {
        try await feed.read(on: loop) { try $0.events.bounds().resume(from: cursor) }
    }

    /// The events after `cursor` that pass the filter: at most `limit`, and about `bytes` bytes.
    package func read(
        after cursor: EventID,
        filter: EventFilter,
        limit: Int,
        bytes: Int,
        on loop: isolated EventLoop
    ) async throws -> Reading {
        let reading = try await feed.read(on: loop) { tables in
            try tables.events.read(after: cursor, filter: filter, limit: limit, bytes: bytes)
        }
        return switch reading {
        case .page(let page):
            .page(Page(events: page.events.map(StreamEvent.init), next: page.next, isEnd: page.isEnd))
        case .outside(let bounds): .outside(bounds)
        }
    }
}
