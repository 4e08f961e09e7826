import Basics
import EventLoops
import Store

/// The conversation behind each session key, by the gateway's id. A reset gives the key a new conversation; some
/// gateways show a reset in no other way.
final class Conversations {
    enum Kind: Equatable {
        case known
        /// The conversation has replaced another one.
        case new
        /// The session had this conversation and left it. The page that shows it may have been requested before that.
        case former
    }

    private struct State {
        var current: String?
        var former: [String] = []
        /// The time at which it replaced another one.
        var begunAt: Timestamp?
    }

    private static let mostRemembered = 4096
    /// More than the number of answers that can be outstanding.
    private static let mostFormer = 8

    private let feed: EventFeed
    private var states: [SessionKey: State] = [:]

    init(feed: EventFeed) {
        self.feed = feed
    }

    /// Loads the conversations of the cached messages.
    /// - Parameter changed: called for each session whose conversation changed meanwhile.
    func load(on loop: isolated EventLoop, changed: @escaping (_ session: String) -> Void) {
        feed.readSaved("conversations", on: loop) { tables in
            try tables.messages.conversations()
        } failed: { _ in
        } completion: { [weak self] saved in
            guard let self else { return }
            for (session, kept) in saved {
                guard let seen = self.states[session]?.current else {
                    self.states[session, default: State()].current = kept.id
                    self.states[session]?.begunAt = kept.begunAt
                    continue
                }
                guard seen != kept.id, self.states[session]?.former.isEmpty == true else { continue }
                self.states[session]?.former = [kept.id]
                changed(session.text)
            }
        }
    }

    /// Records that the gateway showed this conversation in the session.
    func see(_ id: String, in session: String, now: Timestamp) -> Kind {
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

    /// Records that the session continues with this conversation; nil if its id is not known yet.
    func begin(_ id: String?, in session: String, now: Timestamp) {
        var state = states[session] ?? State()
        if let last = state.current { state.former = Array((state.former + [last]).suffix(Self.mostFormer)) }
        state.former.removeAll { $0 == id }
        state.current = id
        state.begunAt = now
        states[session] = state
    }

    func current(in session: String) -> String? { states[session]?.current }

    /// The time at which the session's conversation replaced another one, if Ladle saw that.
    func begun(in session: String) -> Timestamp? { states[session]?.begunAt }
}
