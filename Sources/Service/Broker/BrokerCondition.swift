package import Basics
package import JSONBytes

/// The connection to the MQTT broker, for people and programs.
package struct BrokerCondition: Sendable, Equatable, JSONWritable {
    package enum State: String, Sendable, CaseIterable {
        case connecting, online
        /// Connected, but the broker does not take everything.
        case degraded
        /// The broker does not let Ladle in. Tried again every few minutes.
        case refused
        case offline
    }

    package var state = State.connecting
    package var code: String?
    package var detail: String?
    package var hint: String?
    package var since: Timestamp
    /// The address without secrets.
    package var broker: String
    /// `5` or `3.1.1`; nil before the first connection.
    package var version: String?
    /// Events that wait for the broker, as far as they were read, and for how many seconds the oldest.
    var lag: (events: Int, seconds: Int64) = (0, 0)
    package var scopes: [String]

    package static func == (left: BrokerCondition, right: BrokerCondition) -> Bool {
        left.state == right.state && left.code == right.code && left.detail == right.detail && left.hint == right.hint
            && left.since == right.since && left.broker == right.broker && left.version == right.version
            && left.lag == right.lag && left.scopes == right.scopes
    }

    package func write(to writer: inout JSONWriter) {
        writer.object { writer in
            writer.member("state", state.rawValue)
            writer.member("code", code)
            writer.member("detail", detail)
            writer.member("hint", hint)
            writer.member("since", since)
            writer.member("broker", broker)
            writer.member("protocol", version)
            writer.object("lag") { lag in
                lag.member("events", self.lag.events)
                lag.member("seconds", self.lag.seconds)
            }
            writer.array("scopes", of: scopes)
        }
    }
}
