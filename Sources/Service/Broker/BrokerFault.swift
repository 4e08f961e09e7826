import MQTT
import Outbound

/// Why there is no session with the broker, for people: a stable code, a sentence, what to type next, and when to try again.
struct BrokerFault: Equatable {
    enum Retry: Equatable {
        /// With growing pauses.
        case soon
        /// Nothing changes by itself; looked at again after some minutes.
        case late
        /// Another client has our id, and would be thrown out in its turn.
        case afterTakeover
    }

    var state = BrokerCondition.State.offline
    let code: String
    let detail: String
    var hint: String?
    var retry = Retry.soon

    init(
        _ code: String,
        _ detail: String,
        hint: String? = nil,
        state: BrokerCondition.State = .offline,
        retry: Retry = .soon
    ) {
        (self.code, self.detail, self.hint, self.state, self.retry) = (code, detail, hint, state, retry)
    }

    static let takenOver = BrokerFault(
        "MQTT_TAKEN_OVER",
        "Another client connected with Ladle's client id, so the broker closed Ladle's connection.",
        hint: "ladle serve --mqtt-client-id NAME",
        retry: .afterTakeover
    )

    /// The moment at which a broker closes the connection without a word.
    enum Point: Equatable {
        case subscribing
        /// It has not acknowledged a message to this topic.
        case writing(String)
        case quiet
    }

    /// Brokers of 3.1.1 cannot say why they close, so the reason is a guess.
    init(closedAt point: Point, root: String) {
        let closes =
            "The broker closed several connections seconds after it had let Ladle in, and did not say why"
        switch point {
        case .quiet: self = .closedAtOnce
        case .subscribing:
            self.init(
                "MQTT_SUBSCRIBE_DENIED",
                closes + ": each time when Ladle asked for commands. Perhaps Ladle's user may not read there.",
                hint: "give Ladle's user the right to read below \(root)/ at the broker"
            )
        case .writing(let topic):
            self.init(
                "MQTT_CLOSED",
                closes + ": each time after a message to \(topic). Perhaps Ladle's user may not write there, or "
                    + "another client has Ladle's client id.",
                hint: "give Ladle's user the right to write below \(root)/ at the broker"
            )
        }
    }

    /// Older brokers throw a client out without a word, so the reason is a guess.
    private static let closedAtOnce = BrokerFault(
        "MQTT_TAKEN_OVER",
        "The broker closed several connections seconds after it had let Ladle in, and did not say why. Perhaps another client "
            + "has Ladle's client id.",
        hint: "ladle serve --mqtt-client-id NAME",
        retry: .afterTakeover
    )

    /// MQTT 3.1.1 only. The session goes, with all that the broker kept for Ladle in it.
    static let tooLargeForUs = BrokerFault(
        "MQTT_MESSAGE_TOO_LARGE",
        "The broker has a message for Ladle of more than 1 MiB. Ladle begins a new session, without the messages that the broker kept.",
        hint: "send at most 64 KiB of text, or mqtt.version=5 where the broker knows it"
    )

    init(_ failure: BrokerConnection.Failure) {
        switch failure {
        case .network(let reason):
            self.init(
                "MQTT_UNREACHABLE",
                "The broker cannot be reached: \(reason).",
                hint: "check mqtt.url, and that the broker runs"
            )
        case .tls(let reason):
            let hint =
                reason.contains("application verification")
                ? "the broker's certificate is not that of mqtt.pin"
                : reason.contains("certificate")
                    ? "ladle serve --mqtt-ca FILE, or --mqtt-pin SHA-256 of the broker's certificate"
                    : "port 1883 speaks no TLS: mqtts:// goes to another port, usually 8883"
            self.init(
                "MQTT_TLS",
                "There is no TLS with the broker: \(reason).",
                hint: hint,
                state: .refused,
                retry: .late
            )
        case .webSocket(let reason):
            self.init(
                "MQTT_WEBSOCKET",
                "There is no WebSocket with the broker: \(reason).",
                hint: "check port and path of mqtt.url, and that the broker has a listener for WebSockets there"
            )
        }
    }

    init(secrets text: String) {
        self.init("MQTT_SECRET", text, hint: "ladle doctor", state: .refused, retry: .late)
    }

    init(_ end: MQTTEnd) {
        let said = end.text.isEmpty ? "" : " It says: \(end.text)"
        let reason = end.reason.map { " (\($0.words))" } ?? ""
        switch (end.cause, end.reason?.kind) {
        case (_, .authentication?):
            self.init(
                "MQTT_NOT_AUTHORIZED",
                "The broker does not let Ladle in\(reason).\(said)",
                hint: "set mqtt.username and mqtt.passwordFile to what the broker knows, then kill -HUP the server",
                state: .refused,
                retry: .late
            )
        case (_, .takenOver?): self = .takenOver
        case (_, .banned?):
            self.init(
                "MQTT_REFUSED",
                "The broker's administrator keeps Ladle out\(reason).\(said)",
                hint: "look into the broker's log",
                state: .refused,
                retry: .late
            )
        case (_, .version?):
            self.init(
                "MQTT_VERSION",
                "The broker speaks another version of MQTT.\(said)",
                hint: "leave mqtt.version at auto",
                state: .refused,
                retry: .late
            )
        case (_, .moved?):
            let place = end.serverReference.map { " It names \($0)." } ?? ""
            self.init(
                "MQTT_MOVED",
                "The broker sends clients to another server.\(place)",
                hint: "set mqtt.url to the other server",
                state: .refused,
                retry: .late
            )
        case (.refused, _) where end.reason?.code == 0x85:
            self.init(
                "MQTT_CLIENT_ID",
                "The broker does not take Ladle's client id\(reason).\(said)",
                hint: "set mqtt.clientId to an id that the broker takes",
                state: .refused,
                retry: .late
            )
        case (.refused, _):
            self.init(
                "MQTT_REFUSED",
                "The broker refused the connection\(reason).\(said)",
                hint: "look into the broker's log"
            )
        case (.disconnected, _):
            self.init("MQTT_DISCONNECTED", "The broker ended the connection\(reason).\(said)")
        case (.broken(let error), _):
            self.init("MQTT_PROTOCOL", "The broker broke the protocol: \(error).", hint: "is it an MQTT broker?")
        case (.timedOut(let wait), _):
            let what =
                switch wait {
                case .connack: "the connection"
                case .suback: "the subscription"
                case .unsuback: "the end of a subscription"
                case .ping: "a ping"
                case .packet: "the rest of a packet"
                }
            self.init("MQTT_SILENT", "The broker did not answer in time: \(what) waited.")
        case (.unusableSettings(let error), _):
            self.init("MQTT_SETTINGS", "These settings make no connection: \(error).", state: .refused, retry: .late)
        case (.closed, _), (.stopped, _):
            self.init(
                "MQTT_CLOSED",
                end.wasConnected
                    ? "The broker closed the connection." : "The broker closed the connection before it let Ladle in.",
                hint: end.wasConnected ? nil : "look into the broker's log"
            )
        }
    }
}
