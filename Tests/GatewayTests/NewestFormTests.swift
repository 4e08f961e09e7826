import JSONBytes
import Testing

@testable import Gateway

/// The forms in which the newest gateways say something, and the meaning of each. Their frames are constructed from the published code.
struct NewestFormTests {
    private static func json(_ text: String) throws -> JSONValue { try JSONDocument(parsing: text).root }

    // MARK: The end of one run

    /// `agent.wait` in its new sense: nothing but an end or an error says that the run is over, and silence says nothing at all.
    @Test(arguments: [
        (#""status":"timeout""#, AgentWait.Output.unknown),
        (#""status":"pending","timeoutPhase":"queue","providerStarted":false"#, .queued),
        (#""status":"timeout","timeoutPhase":"gateway_draining""#, .draining),
        (#""status":"timeout","startedAt":1,"error":"503","pendingError":true,"providerStarted":true"#, .queued),
        (#""status":"timeout","endedAt":9,"timeoutPhase":"provider","stopReason":"timeout""#, .unknown),
        (#""status":"timeout","endedAt":9,"stopReason":"restart""#, .unknown),
        (#""status":"timeout","timeoutPhase":"queue","providerStarted":false"#, .unknown),
        (#""status":"ok","endedAt":9,"stopReason":"stop""#, .ended),
        (#""status":"ok","endedAt":9,"yielded":true"#, .ended),
        (#""status":"error","error":"Provider failed","endedAt":9"#, .failed("Provider failed")),
        (#""status":"error","stopReason":"rpc","error":"agent run aborted","endedAt":9"#, .failed("agent run aborted")),
        (#""status":"error","livenessState":"blocked","error":"Agent run blocked""#, .failed("Agent run blocked")),
    ])
    func `each answer to the question about a run has its meaning`(text: String, meaning: AgentWait.Output) throws {
        #expect(try AgentWait.output(from: Self.json(#"{"runId":"r",\#(text)}"#)) == meaning)
    }

    // MARK: Refusals of a moment

    /// A refusal of `INVALID_REQUEST` that took nothing: the message may go again as it is.
    @Test(arguments: ["session-routing-changed", "active-leaf-changed", "session-settings-changed"])
    func `a refusal because of what has changed meanwhile is for the moment`(reason: String) throws {
        let details = #","details":{"reason":"\#(reason)"}"#
        #expect(GatewayError(try Self.json(#"{"code":"INVALID_REQUEST","message":"m"\#(details)}"#)).isOutdated)
        #expect(!GatewayError(try Self.json(#"{"code":"FORBIDDEN","message":"m"\#(details)}"#)).isOutdated)
    }

    @Test(arguments: [
        (#"Session "K" changed while starting work. Retry."#, true),
        (#"Session "K" was deleted while starting work. Retry."#, true),
        ("Session storage changed while starting work. Retry.", true),
        ("send blocked by session policy", false), ("Retry. sessionKey must not be blank", false),
    ])
    func `a refusal without a reason is for the moment if it asks to be tried again`(words: String, isIt: Bool) {
        #expect(GatewayError(code: "INVALID_REQUEST", message: words).isOutdated == isIt)
    }

    @Test func `a request with a key that another one has used is refused for good`() throws {
        let text = #"{"code":"INVALID_REQUEST","message":"m","details":{"reason":"chat-request-conflict"}}"#
        #expect(!GatewayError(try Self.json(text)).isOutdated)
    }

    /// The write limit: it names the calls of a minute, and is the caller's own matter and no pause of the gateway.
    @Test func `too many calls are no pause, and the time to wait is known`() throws {
        let text =
            #"{"code":"UNAVAILABLE","message":"rate limit exceeded for cron.run; retry after 37s","retryable":true,"#
            + #""retryAfterMs":36500,"details":{"method":"cron.run","limit":"30 per 60s"}}"#
        let error = GatewayError(try Self.json(text))
        #expect(!error.isForNow && !error.isPause && error.retryAfterMs == 36_500)
        let other = GatewayError(try Self.json(text.replacing(#","limit":"30 per 60s""#, with: "")))
        #expect(other.isForNow && !other.isPause)
    }

    // MARK: The runs of a session

    private static let activeRuns: [(member: String, runs: Set<String>?, isActive: Bool?)] = [
        ("", nil, true), (#","activeRunIds":null"#, nil, true), (#","activeRunIds":[]"#, [], false),
        (#","activeRunIds":["r"]"#, ["r"], true), (#","activeRunIds":["r",7]"#, nil, true),
        (#","activeRunIds":"r""#, nil, true),
    ]

    /// `activeRunIds`: absent, null and a set say three things, and only the empty set proves that nothing runs.
    @Test(arguments: activeRuns)
    func `the runs of a session are known, unknown or none`(member: String, runs: Set<String>?, isActive: Bool?) throws
    {
        let row = #"{"key":"agent:main:main","hasActiveRun":true,"status":"queued"\#(member)}"#
        #expect(SessionRow(try Self.json(row)).activeRuns == runs)
        let page = ChatHistory.Output(try Self.json(#"{"messages":[],"sessionInfo":\#(row)}"#))
        #expect(page.activeRuns == runs && page.hasActiveRun == isActive)
    }

    /// A run that waits for room has not ended.
    @Test(arguments: [("queued", false), ("running", false), ("done", true), ("failed", true), ("killed", true)])
    func `a queued run is no ended one`(status: String, hasEnded: Bool) throws {
        let page = try Self.json(#"{"messages":[],"sessionInfo":{"hasActiveRun":true,"status":"\#(status)"}}"#)
        #expect((ChatHistory.Output(page).lastRunEnd != nil) == hasEnded)
    }

    // MARK: The ends of tries and steps

    private func lifecycle(_ data: String) throws -> AgentEvent.Lifecycle? {
        let payload = try Self.json(#"{"runId":"r","seq":1,"stream":"lifecycle","data":\#(data)}"#)
        guard case .agent(let event) = GatewayEventPayload(event: "agent", payload),
            case .lifecycle(let lifecycle)? = event.content
        else { return nil }
        return lifecycle
    }

    /// `executionSettled`: no other try follows, so nobody waits for one.
    @Test func `an end says whether another try may follow`() throws {
        #expect(try lifecycle(#"{"phase":"error","error":"e","executionSettled":true}"#)?.isLastTry == true)
        #expect(try lifecycle(#"{"phase":"error","error":"e","executionSettled":false}"#)?.isLastTry == false)
        #expect(try lifecycle(#"{"phase":"error","error":"e"}"#)?.isLastTry == false)
    }
}
