import Basics

/// The address of a broker: `mqtt://HOST[:1883]`, `mqtts://HOST[:8883]`, and over a WebSocket `ws://HOST[:80][/mqtt]` or
/// `wss://HOST[:443][/mqtt]`.
package struct BrokerAddress: Sendable, Equatable, CustomStringConvertible {
    package enum Problem: Error, Equatable, Sendable {
        case scheme
        case credentials
        case path
        case malformed
    }

    private static let longestPath = 256

    package let isTLS: Bool
    /// In lower case, IPv6 without brackets.
    package let host: String
    package let port: UInt16
    /// The path of the WebSocket; nil for MQTT over the bare connection.
    package let path: String?

    package init(_ text: String) throws(Problem) {
        guard let end = text.firstRange(of: "://") else { throw .scheme }
        let isWebSocket: Bool
        switch text[..<end.lowerBound].lowercased() {
        case "mqtt", "tcp": (isTLS, isWebSocket) = (false, false)
        case "mqtts", "ssl", "tls": (isTLS, isWebSocket) = (true, false)
        case "ws": (isTLS, isWebSocket) = (false, true)
        case "wss": (isTLS, isWebSocket) = (true, true)
        default: throw .scheme
        }
        let rest = text[end.upperBound...]
        guard !rest.contains("@") else { throw .credentials }
        let slash = rest.utf8.firstIndex(of: UInt8(ascii: "/")) ?? rest.endIndex
        let (place, path) = (rest[..<slash], rest[slash...])
        if isWebSocket {
            let isPath = path.utf8.allSatisfy { (0x21...0x7E).contains($0) && !"?#\"<>\\^`{|}".utf8.contains($0) }
            guard isPath, path.utf8.count <= Self.longestPath else { throw .path }
            self.path = path.isEmpty || path == "/" ? "/mqtt" : String(path)
        } else {
            guard path.isEmpty || path == "/" else { throw .path }
            self.path = nil
        }
        guard !place.contains(where: { $0 == "?" || $0 == "#" }) else { throw .path }
        var (name, digits) = (place, Substring())
        if place.hasPrefix("[") {
            guard let bracket = place.firstIndex(of: "]") else { throw .malformed }
            name = place[place.index(after: place.startIndex)..<bracket]
            digits = place[place.index(after: bracket)...]
            guard NetworkAddress(String(name)) != nil, name.contains(":") else { throw .malformed }
        } else if let colon = place.firstIndex(of: ":") {
            (name, digits) = (place[..<colon], place[colon...])
        }
        let isName = name.utf8.allSatisfy { $0.isASCIILetter || $0.isASCIIDigit || ".-_:".utf8.contains($0) }
        guard !name.isEmpty, name.utf8.count <= 253, isName else { throw .malformed }
        host = name.lowercased()
        guard !digits.isEmpty else {
            port = isWebSocket ? (isTLS ? 443 : 80) : isTLS ? 8883 : 1883
            return
        }
        guard digits.hasPrefix(":"), let number = UInt16(digits.dropFirst()), number > 0,
            digits.dropFirst().utf8.allSatisfy({ $0.isASCIIDigit })
        else { throw .malformed }
        port = number
    }

    package var scheme: String { path == nil ? (isTLS ? "mqtts" : "mqtt") : isTLS ? "wss" : "ws" }

    package var description: String {
        "\(scheme)://\(host.contains(":") ? "[\(host)]" : host):\(port)\(path ?? "")"
    }
}

extension BrokerAddress.Problem: CustomStringConvertible {
    package var description: String {
        switch self {
        case .scheme: "write mqtt://HOST or mqtts://HOST, or for a WebSocket ws:// or wss://"
        case .credentials: "name and password do not stand in the address; use mqtt.username and mqtt.passwordFile"
        case .path: "an address of a broker has no path, or for a WebSocket one such as /mqtt, without ? and #"
        case .malformed: "it is no address such as mqtt://192.168.1.10:1883"
        }
    }
}
