import Gateway
import JSONBytes
import Outbox
import Upstream

extension AttemptOutcome {
    init(_ outcome: CallOutcome) {
        switch outcome {
        case .ok(let payload):
            let status: Acknowledgement.Status =
                switch payload?["status"]?.string {
                case "started", "accepted": .started
                case "in_flight": .inFlight
                default: .finished
                }
            self = .acknowledged(Acknowledgement(status: status, runID: payload?["runId"]?.string))
        case .failed(let error, let payload):
            // A repeat of a key whose run failed is answered by an error with that run's summary: the message was taken.
            if payload?["summary"] != nil, let run = payload?["runId"]?.string {
                self = .acknowledged(Acknowledgement(status: .finished, runID: run))
                return
            }
            self = .rejected(
                GatewayRejection(
                    code: error.detailsCode ?? error.code,
                    message: error.message,
                    retryable: error.retryable,
                    retryAfterMs: error.retryAfterMs
                )
            )
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
