import Access
import Basics
import EventLoops
import EventStream
import JSONBytes
import Service

/// Where the events of streams come from, beside the ones that the hub delivers live: this process's own log and runs, or those of the
/// leader that it follows.
protocol EventSource: AnyObject {
    /// The position from which a stream with this cursor starts.
    func position(after cursor: EventID, on loop: isolated EventLoop) async throws -> ResumePosition
    /// The events after `cursor` that pass the filter: at most `limit`, and about `bytes` bytes.
    func read(
        after cursor: EventID,
        filter: EventFilter,
        limit: Int,
        bytes: Int,
        on loop: isolated EventLoop
    ) async throws -> EventReader.Reading
    /// Waits until the hub has delivered the events up to `position`; false if that takes too long.
    func reach(_ position: EventID, on loop: isolated EventLoop) async -> Bool
    /// The caller and its credential, for `state`. Asked for while its head is still there.
    func question(of call: Call) -> StateQuestion
    /// The present state as the caller may see it, for one stream, without the texts.
    func state(_ question: StateQuestion, on loop: isolated EventLoop) async throws -> StateNow
    /// The text so far of each run that has not ended for the subscribers.
    func activeTexts(at: Timestamp) -> [StreamEvent]
    /// The link as JSON.
    func link(shownTo caller: Caller) -> [UInt8]
    /// A stream begins that shows events which the gateway is asked for only while somebody waits for them.
    func follow(_ filter: EventFilter, by caller: Caller, on loop: isolated EventLoop)
}

/// The one who wants to know the present state.
struct StateQuestion {
    let caller: Caller
    /// The credential that shows a leader who asks; nil if there is none that it would know.
    var credential: [UInt8]?
}

/// A snapshot, and the position in the log that it stands for.
struct StateNow {
    var events: [StreamEvent] = []
    var position: EventID?
}

/// The log and the runs of this process.
final class OwnEvents: EventSource {
    private let services: Services

    init(_ services: Services) {
        self.services = services
    }

    func position(after cursor: EventID, on loop: isolated EventLoop) async throws -> ResumePosition {
        try await services.eventReader.position(after: cursor, on: loop)
    }

    func read(
        after cursor: EventID,
        filter: EventFilter,
        limit: Int,
        bytes: Int,
        on loop: isolated EventLoop
    ) async throws -> EventReader.Reading {
        try await services.eventReader.read(after: cursor, filter: filter, limit: limit, bytes: bytes, on: loop)
    }

    /// The log never is ahead of the hub for longer than a turn, and no cursor is ahead of the log.
    func reach(_ position: EventID, on loop: isolated EventLoop) async -> Bool { true }

    func question(of call: Call) -> StateQuestion { StateQuestion(caller: call.caller) }

    func state(_ question: StateQuestion, on loop: isolated EventLoop) async -> StateNow {
        StateNow(events: StreamSnapshot(services, at: loop.wallClock).events(for: question.caller))
    }

    func activeTexts(at: Timestamp) -> [StreamEvent] { StreamSnapshot(services, at: at).activeTexts }

    func link(shownTo caller: Caller) -> [UInt8] {
        var writer = JSONWriter()
        writer.value(services.gateway.status.shown(to: caller))
        return writer.bytes
    }

    func follow(_ filter: EventFilter, by caller: Caller, on loop: isolated EventLoop) {
        guard caller.sessions == nil else { return }
        if filter.names("usage") { services.usage.follow(on: loop) }
        if filter.admits(type: "node", session: nil, run: nil) { services.nodes.follow(on: loop) }
    }
}
