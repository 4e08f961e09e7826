package import Basics

/// The record types DNS-SD uses.
package enum DNSType: UInt16, Sendable {
    case a = 1
    case ptr = 12
    case txt = 16
    case aaaa = 28
    case srv = 33
}

package struct DNSQuestion: Sendable, Hashable {
    package let name: DNSName
    package let type: DNSType

    package init(name: DNSName, type: DNSType) {
        self.name = name
        self.type = type
    }
}

package struct DNSRecord: Sendable, Equatable {
    package enum Data: Sendable, Equatable {
        case address(NetworkAddress)
        case pointer(DNSName)
        case service(priority: UInt16, weight: UInt16, port: UInt16, target: DNSName)
        /// The strings of a TXT record, unchanged.
        case text([[UInt8]])
        case other(type: UInt16)
    }

    package let name: DNSName
    /// The lifetime in seconds; 0 withdraws the record (RFC 6762 §10.1).
    package let timeToLive: UInt32
    package let data: Data

    package init(name: DNSName, timeToLive: UInt32 = 120, data: Data) {
        self.name = name
        self.timeToLive = timeToLive
        self.data = data
    }
}
