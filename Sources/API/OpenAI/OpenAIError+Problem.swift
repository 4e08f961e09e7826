import HTTPModel
import OpenAI
import Server

extension OpenAIError {
    /// A problem in OpenAI's terms. Its status may change: the SDKs repeat 409, 408 and all of 5xx, and read 422 as a fault of their own.
    init(_ problem: Problem) {
        let message = problem.hint.map { "\(problem.detail) (\($0))" } ?? problem.detail
        let seconds = problem.retryAfterMs.map { min(max(($0 + 999) / 1000, 1), 60) }
        let field = problem.field
        switch problem.code {
        case .notPaired: self.init(401, .authentication, "invalid_api_key", message)
        case .missingScope, .sessionNotAllowed, .pathNotAllowed, .crossOrigin, .funnelRefused, .gatewayScopeMissing:
            self.init(403, .permission, "insufficient_permissions", message, param: field)
        case .bodyTooLarge, .messageTooLarge, .attachmentTooLarge, .requestLineTooLong, .headTooLarge:
            self.init(413, .invalidRequest, "request_too_large", message, param: field)
        case .rateLimited, .outboxFull, .tooManyStreams, .tooManyTickets, .tooManyConnections, .idempotencyInFlight:
            self.init(429, .rateLimit, "rate_limit_exceeded", message, mayRepeat: true, retryAfterSeconds: seconds ?? 5)
        case .storageFull: self.init(507, .server, "server_error", message)
        case .storeUnavailable:
            self.init(503, .server, "server_error", message, mayRepeat: problem.retryable, retryAfterSeconds: seconds)
        case .shuttingDown:
            self.init(503, .server, "server_error", message, mayRepeat: true, retryAfterSeconds: seconds)
        case .gatewayUnavailable, .gatewayTimeout, .entryExpired:
            self.init(503, .server, "gateway_unavailable", message)
        case .runAborted, .entryCancelled: self.init(400, .invalidRequest, "run_aborted", message)
        case .runFailed, .runInterrupted: self = .final("run_failed", message)
        case .sendRejected: self = .final("send_rejected", message)
        case .notFound, .methodNotAllowed:
            self.init(
                Int(problem.status.code),
                .invalidRequest,
                problem.code.rawValue.lowercased(),
                message,
                param: field
            )
        default:
            let status = Int(problem.status.code)
            switch status {
            case 408, 409, 422, 428, 501:
                self.init(400, .invalidRequest, "invalid_request_error", message, param: field)
            case 500...: self.init(status, .server, "server_error", message, param: field)
            default: self.init(status, .invalidRequest, "invalid_request_error", message, param: field)
            }
        }
    }
}
