import Basics
import Gateway

/// The handshake from the open WebSocket to hello or rejection: wait for the challenge, send `connect`, read the
/// answer.
struct HandshakeState: Sendable {
    enum Step: Sendable {
        /// Sign this challenge and send `connect` under this ID.
        case connect(Challenge, id: String)
        case accepted(Hello)
        case rejected(GatewayError)
        /// The frame is not part of a handshake. It is counted and otherwise ignored.
        case ignored
        /// The gateway answers, but in another protocol.
        case unusable(String)
    }

    private enum State: Sendable {
        case awaitingChallenge
        case connectSent
        case done
    }

    private let requestId: String
    private let requestedScopes: [String]
    private var state = State.awaitingChallenge

    init(requestId: String, requestedScopes: [String]) {
        self.requestId = requestId
        self.requestedScopes = requestedScopes
    }

    mutating func receive(_ frame: GatewayFrame, now: Timestamp) -> Step {
        switch (state, frame) {
        case (.awaitingChallenge, .event(let event)):
            guard case .challenge(let nonce, let timestampMs) = event.payload else { return .ignored }
            guard let challenge = Challenge(nonce: nonce, timestampMs: timestampMs ?? now.milliseconds) else {
                state = .done
                return .unusable("its challenge has no usable nonce")
            }
            state = .connectSent
            return .connect(challenge, id: requestId)
        case (.awaitingChallenge, .response(let response)), (.connectSent, .response(let response)):
            return answer(response)
        default:
            return .ignored
        }
    }

    private mutating func answer(_ response: GatewayResponse) -> Step {
        // A gateway that could not read our frame answers under the literal ID `invalid`.
        guard response.id == requestId || (response.id == "invalid" && response.error != nil) else { return .ignored }
        state = .done
        if let error = response.error { return .rejected(error) }
        guard let hello = Hello(response.payload, requested: requestedScopes) else {
            return .unusable("its answer to connect is no hello")
        }
        return .accepted(hello)
    }
}
