import Basics
import EventLoops
import Store

/// The conversation behind each session key, by the gateway's own id. A reset gives a key another one; some gateways show
/// that by nothing else.
final class Conversations {
    enum Sighting: Equatable {
        case known
        /// It has taken the place of another one.
        case new
        /// It was left before: what shows it may have been under way since then.
        case former
    }

    private struct State {
        var current: String?
        var former: [String] = []
        /// When it took the place of another one.
        var begunAt: Timestamp?
    }

    private static let mostRemembered = 4096
    /// More of them than answers are under way.
    private static let mostFormer = 8

    private let feed: EventFeed
    private var states: [String: State] = [:]

    init(feed: EventFeed) {
        self.feed = feed
    }

    /// Takes up the conversations of the messages that are kept.
    /// - Parameter changed: called for each session that was seen with another one meanwhile.
    func load(on loop: isolated EventLoop, changed: @escaping (_ session: String) -> Void) {
        feed.readSaved("conversations", on: loop) { tables in
            try tables.messages.conversations()
        } failed: { _ in
        } completion: { [weak self] saved in
            guard let self else { return }
            for (session, id) in saved {
                guard let seen = self.states[session]?.current else {
                    self.states[session, default: State()].current = id
                    continue
                }
                guard seen != id, self.states[session]?.former.isEmpty == true else { continue }
                self.states[session]?.former = [id]
                changed(session)
            }
        }
    }

    /// The gateway showed this conversation in the session.
    func see(_ id: String, in session: String, now: Timestamp) -> Sighting {
        guard let state = states[session] else {
            if states.count >= Self.mostRemembered { states.removeAll() }
            states[session] = State(current: id)
            return .known
        }
        if state.current == id { return .known }
        if state.former.contains(id) { return .former }
        guard state.current != nil else {
            states[session]?.current = id
            return .known
        }
        begin(id, in: session, now: now)
        return .new
    }

    /// The session goes on with this conversation; nil where its id is not known yet.
    func begin(_ id: String?, in session: String, now: Timestamp) {
        var state = states[session] ?? State()
        if let last = state.current { state.former = Array((state.former + [last]).suffix(Self.mostFormer)) }
        state.former.removeAll { $0 == id }
        state.current = id
        state.begunAt = now
        states[session] = state
    }

    func current(in session: String) -> String? { states[session]?.current }

    /// When the session's conversation took the place of another one; nil where this process saw no such change.
    func begun(in session: String) -> Timestamp? { states[session]?.begunAt }
}
