import Gateway
import Outbox
import Upstream

extension AttemptOutcome {
    /// - Parameter kind: the kind of the entry that was sent.
    init(_ outcome: CallOutcome, of kind: OutboxKind) {
        switch outcome {
        case .ok(let payload) where kind == .abort:
            self = .acknowledged(Acknowledgement(status: ChatAbort.Output(payload).aborted ? .started : .nothingRan))
        case .ok(let payload):
            let answer = ChatSend.Output(payload)
            let status: Acknowledgement.Status =
                switch answer.status {
                case .started: .started
                case .inFlight: .inFlight
                case .finished: .finished
                }
            self = .acknowledged(Acknowledgement(status: status, runID: answer.runId))
        case .failed(let error, let payload):
            if let run = ChatSend.failedRun(payload) {
                self = .acknowledged(Acknowledgement(status: .failed, runID: run))
                return
            }
            self = .rejected(GatewayRejection(error))
        case .notDispatched(.tooLarge(let bytes, let limit)):
            self = .rejected(
                GatewayRejection(
                    code: "TOO_LARGE",
                    message: "The message takes \(bytes) bytes and the gateway takes \(limit).",
                    retryable: false
                )
            )
        case .notDispatched(let reason): self = .notDispatched(detail: "\(reason)")
        case .ambiguous(.timedOut): self = .noAnswer(detail: "the gateway did not answer in time")
        case .ambiguous(.linkLost): self = .noAnswer(detail: "the connection was lost before the answer")
        }
    }
}

extension GatewayRejection {
    init(_ error: GatewayError) {
        self.init(
            code: error.detailsCode ?? error.code,
            message: error.message,
            retryable: error.retryable,
            retryAfterMs: error.retryAfterMs
        )
    }
}
