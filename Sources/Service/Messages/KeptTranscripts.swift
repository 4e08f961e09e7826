import Basics
import EventLoops
import Gateway

/// The newest rows of the sessions read last, so that a second reader costs the gateway no further page. A page is
/// reused until something happens in its session.
final class KeptTranscripts {
    private struct Page {
        let output: ChatHistory.Output
        let rows: Int
        let hasLongTexts: Bool
    }

    /// Even with a gateway that reports each row, its files may be edited by hand.
    private static let lifeWithEventsMs: UInt64 = 30_000
    /// For a gateway that reports only runs.
    private static let lifeWithoutEventsMs: UInt64 = 2_000
    /// The gateway writes rows a moment after the event that reports them.
    private static let settlingMs: UInt64 = 2_000
    private static let lifeWhileSettlingMs: UInt64 = 500
    /// Dashboards show a few sessions.
    private static let mostPages = 8
    /// Over all pages.
    private static let mostBytes = 2 << 20
    /// The most sessions whose last event time is remembered: more than are read at one time.
    private static let mostRemembered = 256

    private var pages = Cached<SessionKey, Page>(most: mostPages, mostBytes: mostBytes, keepsOld: false)
    private var changedAt = RecentValues<SessionKey, UInt64>(atLeast: mostRemembered)

    func page(_ session: String, rows: Int, longTexts: Bool, on loop: isolated EventLoop) -> ChatHistory.Output? {
        guard let page = pages.fresh(SessionKey(canonical: session), now: loop.now), page.rows >= rows,
            page.hasLongTexts == longTexts
        else { return nil }
        return page.output
    }

    /// Registers a question about to be sent.
    /// - Returns: the number to pass to `keep`.
    func ask(_ session: String) -> UInt64 { pages.ask(SessionKey(canonical: session)) }

    /// Keeps the answer to question `number`; nil if there was none.
    func keep(
        _ output: ChatHistory.Output?,
        of session: String,
        rows: Int,
        longTexts: Bool,
        to number: UInt64,
        tellsOfRows: Bool,
        on loop: isolated EventLoop
    ) {
        let key = SessionKey(canonical: session)
        guard let output else { return pages.failed(key, request: number) }
        let settles = changedAt[key].map { loop.now < $0 + Self.settlingMs * 1_000_000 } ?? false
        let life =
            settles
            ? Self.lifeWhileSettlingMs : tellsOfRows ? Self.lifeWithEventsMs : Self.lifeWithoutEventsMs
        let page = Page(output: output, rows: rows, hasLongTexts: longTexts)
        pages.keep(page, to: key, request: number, size: output.byteCount, lifeMs: life, now: loop.now)
    }

    /// Drops the session's page after an event; nil drops all, because the session is unknown.
    func changed(_ session: String?, on loop: isolated EventLoop) {
        guard let session else { return forget() }
        changedAt[SessionKey(canonical: session)] = loop.now
        pages.expire(SessionKey(canonical: session))
    }

    /// Drops all pages after events may have been missed.
    func forget() { pages.expire() }
}

extension GatewayEvent {
    /// The session whose transcript rows may have changed, as the gateway writes it; `.some(nil)` if the event names
    /// none, nil for every other event. Text deltas change no rows.
    var changedTranscript: String?? {
        switch payload {
        case .sessionMessage(let event): .some(event.sessionKey)
        case .sessionsChanged(let event): .some(event.sessionKey)
        case .chat(let event): event.state == .delta ? nil : .some(event.sessionKey)
        case .agent(let event), .sessionTool(let event):
            event.stream == .assistant || event.stream == .thinking ? nil : .some(event.sessionKey)
        default: nil
        }
    }
}
