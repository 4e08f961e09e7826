import EventLoops
import Gateway

/// The newest rows of the sessions that were read last: a second reader does not cost the gateway another page. A page is given
/// again until something happens in its session.
final class KeptTranscripts {
    private struct Kept {
        let output: ChatHistory.Output
        let rows: Int
        let hasLongTexts: Bool
        /// On the loop's clock.
        let until: UInt64
    }

    /// A gateway that tells of each row may still be changed by hand, in its files.
    private static let lifeWithEventsMs: UInt64 = 30_000
    /// Of a gateway that tells of runs alone.
    private static let lifeWithoutEventsMs: UInt64 = 2_000
    /// Rows are written a moment after the event that tells of them.
    private static let settlingMs: UInt64 = 2_000
    private static let lifeWhileSettlingMs: UInt64 = 500
    /// Dashboards show a few; the page that ends first gives way.
    private static let mostPages = 8
    /// In bytes of all pages. A page that is larger than a quarter is not kept.
    private static let mostBytes = 2 << 20
    /// Sessions of which is known when something last happened: more than are read at one time.
    private static let mostRemembered = 256

    private var pages: [String: Kept] = [:]
    /// The last question to the gateway, while nothing has happened in the session since.
    private var questions: [String: UInt64] = [:]
    private var asked: UInt64 = 0
    private var changedAt = RecentValues<UInt64>(atLeast: mostRemembered)

    func page(_ session: String, rows: Int, longTexts: Bool, on loop: isolated EventLoop) -> ChatHistory.Output? {
        guard let kept = pages[session], kept.until > loop.now, kept.rows >= rows, kept.hasLongTexts == longTexts else {
            return nil
        }
        return kept.output
    }

    /// The gateway is about to be asked for a page.
    /// - Returns: what `keep` wants to know.
    func ask(_ session: String) -> UInt64 {
        asked += 1
        questions[session] = asked
        return asked
    }

    /// The answer to question `number`. It is not kept where something happened since the question.
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
        let settles = changedAt[session].map { loop.now < $0 + Self.settlingMs * 1_000_000 } ?? false
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

    /// Something happened in the session, or nobody knows in which: nil.
    func changed(_ session: String?, on loop: isolated EventLoop) {
        guard let session else { return forget() }
        changedAt[session] = loop.now
        pages[session] = nil
        questions[session] = nil
    }

    /// Events may have been missed.
    func forget() {
        pages = [:]
        questions = [:]
    }
}

extension GatewayEvent {
    /// The session in whose transcript rows may have changed, as the gateway writes it; `.some(nil)` where it does not say, nil for
    /// every other event. Pieces of text change none.
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
