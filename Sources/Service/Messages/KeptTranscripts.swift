import Basics
import EventLoops
import Gateway

/// The newest rows of the sessions read last, so that a second reader costs the gateway no further page. A page is
/// reused until something happens in its session.
final class KeptTranscripts {
    private struct Kept {
        let output: ChatHistory.Output
        let rows: Int
        let hasLongTexts: Bool
        /// The expiry on the loop's clock.
        let until: UInt64
    }

    /// Even with a gateway that reports each row, its files may be edited by hand.
    private static let lifeWithEventsMs: UInt64 = 30_000
    /// For a gateway that reports only runs.
    private static let lifeWithoutEventsMs: UInt64 = 2_000
    /// The gateway writes rows a moment after the event that reports them.
    private static let settlingMs: UInt64 = 2_000
    private static let lifeWhileSettlingMs: UInt64 = 500
    /// Dashboards show a few sessions; the page that expires first is dropped.
    private static let mostPages = 8
    /// In bytes, over all pages. A page larger than a quarter of it is not kept.
    private static let mostBytes = 2 << 20
    /// The most sessions whose last event time is remembered: more than are read at one time.
    private static let mostRemembered = 256

    private var pages: [SessionKey: Kept] = [:]
    /// The last question per session, unless something has happened there since.
    private var questions: [SessionKey: UInt64] = [:]
    private var asked: UInt64 = 0
    private var changedAt = RecentValues<SessionKey, UInt64>(atLeast: mostRemembered)

    func page(_ session: String, rows: Int, longTexts: Bool, on loop: isolated EventLoop) -> ChatHistory.Output? {
        guard let kept = pages[session], kept.until > loop.now, kept.rows >= rows, kept.hasLongTexts == longTexts else {
            return nil
        }
        return kept.output
    }

    /// Registers a question about to be sent.
    /// - Returns: the number to pass to `keep`.
    func ask(_ session: String) -> UInt64 {
        asked += 1
        questions[session] = asked
        return asked
    }

    /// Keeps the answer to question `number`, unless something happened since the question.
    func keep(
        _ output: ChatHistory.Output?,
        of session: String,
        rows: Int,
        longTexts: Bool,
        to number: UInt64,
        tellsOfRows: Bool,
        on loop: isolated EventLoop
    ) {
        guard questions[session] == number else { return }
        questions[session] = nil
        guard let output, output.byteCount <= Self.mostBytes / 4 else { return }
        let settles =
            changedAt[SessionKey(canonical: session)].map { loop.now < $0 + Self.settlingMs * 1_000_000 } ?? false
        let life =
            settles
            ? Self.lifeWhileSettlingMs : tellsOfRows ? Self.lifeWithEventsMs : Self.lifeWithoutEventsMs
        let until = loop.now + life * 1_000_000
        pages[session] = Kept(output: output, rows: rows, hasLongTexts: longTexts, until: until)
        while pages.count > Self.mostPages || pages.values.reduce(0, { $0 + $1.output.byteCount }) > Self.mostBytes {
            guard let first = pages.min(by: { $0.value.until < $1.value.until })?.key else { return }
            pages[first] = nil
        }
    }

    /// Drops the session's page after an event; nil drops all, because the session is unknown.
    func changed(_ session: String?, on loop: isolated EventLoop) {
        guard let session else { return forget() }
        changedAt[SessionKey(canonical: session)] = loop.now
        pages[session] = nil
        questions[session] = nil
    }

    /// Drops all pages after events may have been missed.
    func forget() {
        pages = [:]
        questions = [:]
    }
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
