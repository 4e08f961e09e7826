import Gateway
import Ledger
import Outbox
import Upstream

extension AttemptOutcome {
    /// - Parameter entry: the entry that was sent.
    init(_ outcome: CallOutcome, of entry: OutboxEntry, at profile: GatewayProfile?) {
        switch outcome {
        case .ok(let payload) where entry.kind == .abort:
            self = .acknowledged(Acknowledgement(status: ChatAbort.Output(payload).aborted ? .started : .nothingRan))
        case .ok(let payload):
            let answer = ChatSend.Output(payload)
            // The answer to a repeat is about the run of the earlier try.
            if let reason = answer.abortReason, entry.isFirstUnderKey {
                self = .rejected(GatewayRejection(abortedBefore: reason))
                return
            }
            let status: Acknowledgement.Status =
                switch answer.status {
                case .started: .started
                case .inFlight: .inFlight
                case .finished: .finished
                }
            self = .acknowledged(Acknowledgement(status: status, runID: answer.runId))
        // The gateway may have the message from before; what it has of it decides.
        case .failed(let error, _) where error.isAboutKeptMessage: self = .noAnswer(detail: error.message)
        case .failed(let error, .some)
        where profile?.saysWhenSetUpFails == true && (entry.isFirstUnderKey || error.hasGivenUpMessage):
            self = .rejected(GatewayRejection(code: error.code, message: error.message, retryable: true))
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
    /// A message that was given up before the gateway had taken it: nothing of it ran.
    fileprivate init(abortedBefore reason: String) {
        let isLost = ["restart", "timeout"].contains(reason)
        let fault = OutboxFault.givenUp(isLost: isLost, reason: reason)
        self.init(code: fault.code, message: fault.detail, retryable: isLost)
    }

    init(_ error: GatewayError) {
        self.init(
            code: error.detailsCode ?? error.code,
            message: error.message,
            retryable: error.retryable,
            retryAfterMs: error.retryAfterMs,
            reason: error.isOutdated ? .outdated : error.isPause ? .paused : .refused
        )
    }
}
