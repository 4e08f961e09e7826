import Basics

/// The address of a broker: `mqtt://HOST[:1883]` or `mqtts://HOST[:8883]`.
package struct BrokerAddress: Sendable, Equatable, CustomStringConvertible {
    package enum Problem: Error, Equatable, Sendable {
        case scheme
        case webSocket
        case credentials
        case path
        case malformed
    }

    package let isTLS: Bool
    /// In lower case, IPv6 without brackets.
    package let host: String
    package let port: UInt16

    package init(_ text: String) throws(Problem) {
        guard let end = text.firstRange(of: "://") else { throw .scheme }
        switch text[..<end.lowerBound].lowercased() {
        case "mqtt", "tcp": isTLS = false
        case "mqtts", "ssl", "tls": isTLS = true
        case "ws", "wss": throw .webSocket
        default: throw .scheme
        }
        var rest = text[end.upperBound...]
        if rest.hasSuffix("/") { rest.removeLast() }
        guard !rest.contains("@") else { throw .credentials }
        guard !rest.contains(where: { $0 == "/" || $0 == "?" || $0 == "#" }) else { throw .path }
        var (name, digits) = (rest, Substring())
        if rest.hasPrefix("[") {
            guard let bracket = rest.firstIndex(of: "]") else { throw .malformed }
            name = rest[rest.index(after: rest.startIndex)..<bracket]
            digits = rest[rest.index(after: bracket)...]
            guard NetworkAddress(String(name)) != nil, name.contains(":") else { throw .malformed }
        } else if let colon = rest.firstIndex(of: ":") {
            (name, digits) = (rest[..<colon], rest[colon...])
        }
        let isName = name.utf8.allSatisfy { $0.isASCIILetter || $0.isASCIIDigit || ".-_:".utf8.contains($0) }
        guard !name.isEmpty, name.utf8.count <= 253, isName else { throw .malformed }
        host = name.lowercased()
        guard !digits.isEmpty else {
            port = isTLS ? 8883 : 1883
            return
        }
        guard digits.hasPrefix(":"), let number = UInt16(digits.dropFirst()), number > 0,
            digits.dropFirst().utf8.allSatisfy({ $0.isASCIIDigit })
        else { throw .malformed }
        port = number
    }

    package var description: String {
        "\(isTLS ? "mqtts" : "mqtt")://\(host.contains(":") ? "[\(host)]" : host):\(port)"
    }
}

extension BrokerAddress.Problem: CustomStringConvertible {
    package var description: String {
        switch self {
        case .scheme: "write mqtt://HOST or mqtts://HOST"
        case .webSocket: "MQTT over a WebSocket is not supported; write mqtt://HOST or mqtts://HOST"
        case .credentials: "name and password do not stand in the address; use mqtt.username and mqtt.passwordFile"
        case .path: "an address of a broker has no path"
        case .malformed: "it is no address such as mqtt://192.168.1.10:1883"
        }
    }
}
