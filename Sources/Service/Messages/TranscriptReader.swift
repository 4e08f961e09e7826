import Basics
package import EventLoops
package import Gateway
import Ledger

/// Asks the gateway for the newest rows of sessions. At most one page per session is requested at a time; questions
/// that come meanwhile share the next page, which is long enough for all of them. A page requested earlier never
/// answers a later question, because it may lack the newest rows.
///
/// It asks for a whole page, also where the gateway would answer with the rows since a cursor (`deltaCursor`). Such an answer only adds:
/// it cannot show that a row is missing, or that one was taken away again, and pages are asked for to learn that. New rows come as events.
package final class TranscriptReader {
    package typealias Page = Result<ChatHistory.Output, CallFailure>

    private struct Questions {
        var rows = 0
        /// Whether a waiting reader wants long texts, if the gateway can return them.
        var wantsLongTexts = false
        /// Keys of messages of which the gateway is asked what it keeps.
        var inputs: [String] = []
        /// The question is asked a second time, because the first page showed a conversation that the session had left.
        var isRepeated = false
        /// How often the gateway asked for a moment, as it does after its start.
        var pauses = 0
        var completions: [(Page) -> Void] = []
    }

    private unowned let gateway: any GatewayCalls
    private let events: ServiceEvents
    private let conversations: Conversations
    private var waiting: [SessionKey: Questions] = [:]
    private var underWay: Set<SessionKey> = []
    /// The most such moments for one question, and the longest one.
    private static let mostPauses = 4
    private static let longestPauseMs: Int64 = 1_000
    /// The gateway that refused the parameter for long texts.
    private var refusing: GatewayProfile?

    init(gateway: any GatewayCalls, events: ServiceEvents, conversations: Conversations) {
        self.gateway = gateway
        self.events = events
        self.conversations = conversations
    }

    /// At least `rows` of the newest rows, if the session has them; the gateway returns at most 1,000.
    /// - Parameter input: the key of a message of which a gateway that keeps messages is asked what it has.
    package func read(
        _ session: String,
        rows: Int,
        longTexts: Bool = false,
        input: String? = nil,
        on loop: isolated EventLoop,
        completion: @escaping (Page) -> Void
    ) {
        var questions = waiting[session] ?? Questions()
        questions.rows = max(questions.rows, rows)
        questions.wantsLongTexts = questions.wantsLongTexts || longTexts
        if let input, !questions.inputs.contains(input) { questions.inputs.append(input) }
        questions.completions.append(completion)
        waiting[session] = questions
        if underWay.insert(SessionKey(canonical: session)).inserted { askNext(session, on: loop) }
    }

    package func read(
        _ session: String,
        rows: Int,
        longTexts: Bool = false,
        input: String? = nil,
        on loop: isolated EventLoop
    ) async -> Page {
        await loop.wait { read(session, rows: rows, longTexts: longTexts, input: input, on: loop, completion: $0) }
    }

    private func askNext(_ session: String, on loop: isolated EventLoop) {
        guard let questions = waiting.removeValue(forKey: session) else {
            underWay.remove(SessionKey(canonical: session))
            return
        }
        ask(session, questions, on: loop)
    }

    private func ask(_ session: String, _ questions: Questions, on loop: isolated EventLoop) {
        let asksLong =
            questions.wantsLongTexts && gateway.profile?.takesLongTexts == true && refusing != gateway.profile
        let call = ChatHistory(
            sessionKey: session,
            limit: questions.rows,
            maxChars: asksLong ? ChatHistory.longText : nil,
            inputRunIds: gateway.profile?.keepsMessages == true ? questions.inputs : []
        )
        gateway.call(call, on: loop) { [weak self] page in
            guard let self else { return }
            if asksLong, case .failure(.gateway(let error, _)) = page, error.message.containsText("maxChars") {
                self.refusing = self.gateway.profile
                return self.ask(session, questions, on: loop)
            }
            if case .failure(.gateway(let error, _)) = page, error.isForNow, questions.pauses < Self.mostPauses,
                let wait = error.retryAfterMs, wait <= Self.longestPauseMs
            {
                var again = questions
                again.pauses += 1
                loop.after(milliseconds: wait) { [weak self] in self?.ask(session, again, on: loop) }
                return
            }
            if case .success(let output) = page, let id = output.conversation {
                var again = questions
                again.isRepeated = true
                if self.isFormer(id, session, questions, on: loop) { return self.ask(session, again, on: loop) }
            }
            for completion in questions.completions { completion(page) }
            self.askNext(session, on: loop)
        }
    }

    /// Whether the page shows a conversation that the session has left, because the page was requested before. If the repeated
    /// question shows the same conversation, the session has gone back to it.
    private func isFormer(
        _ id: String,
        _ session: String,
        _ questions: Questions,
        on loop: isolated EventLoop
    ) -> Bool {
        switch conversations.see(id, in: session, now: loop.wallClock) {
        case .known: return false
        case .former where !questions.isRepeated: return true
        case .former:
            conversations.begin(id, in: session, now: loop.wallClock)
            events.notify(.conversationBegan(session: session), on: loop)
        case .new: events.notify(.conversationBegan(session: session), on: loop)
        }
        return false
    }
}
