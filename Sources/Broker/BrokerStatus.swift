package import Basics
import JSONBytes

/// Whether Ladle is there: retained, and the broker's will for when the connection breaks.
package struct BrokerStatus: Sendable, Equatable {
    package let isOnline: Bool
    package let version: String
    package let since: Timestamp?

    package static func online(version: String, since: Timestamp) -> BrokerStatus {
        BrokerStatus(isOnline: true, version: version, since: since)
    }

    /// - Parameter since: nil in the will, which is written before anybody knows the time of its use.
    package static func offline(version: String, since: Timestamp? = nil) -> BrokerStatus {
        BrokerStatus(isOnline: false, version: version, since: since)
    }

    package var payload: [UInt8] {
        JSONWriter.bytes { object in
            object.member("state", isOnline ? "online" : "offline")
            object.member("version", version)
            object.always("since", since)
        }
    }
}
