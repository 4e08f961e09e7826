import Basics

/// Collects what answers say about one service and knows what is still to be asked. Without sockets and time.
package struct GatewayBrowse: Sendable {
    package static let service = "_openclaw-gw._tcp"

    private struct Instance {
        var port: UInt16?
        var target: DNSName?
        var hints: [String: String]?
    }

    private let type: DNSName
    private let source: DiscoveredGateway.Source
    private var order: [DNSName] = []
    private var instances: [DNSName: Instance] = [:]
    private var addresses: [DNSName: [NetworkAddress]] = [:]

    /// Anyone on the network can announce; what a person can read in a list is enough.
    private static let mostInstances = 64
    private static let mostHosts = 128
    private static let mostAddresses = 16
    private static let mostHints = 32
    private static let longestHint = 256

    /// `domain` is nil for multicast in `local`.
    package init?(domain: String? = nil) {
        guard let type = DNSName("\(Self.service).\(domain ?? "local")") else { return nil }
        self.type = type
        source = domain.map { .domain($0) } ?? .multicast
    }

    /// Always who there is; then, for each one, what no answer brought along.
    package var questions: [DNSQuestion] {
        var list = [DNSQuestion(name: type, type: .ptr)]
        for name in order {
            guard let instance = instances[name] else { continue }
            if instance.target == nil { list.append(DNSQuestion(name: name, type: .srv)) }
            if instance.hints == nil { list.append(DNSQuestion(name: name, type: .txt)) }
            if let target = instance.target, addresses[target] == nil {
                list.append(DNSQuestion(name: target, type: .a))
                list.append(DNSQuestion(name: target, type: .aaaa))
            }
        }
        return list
    }

    package mutating func receive(_ message: DNSMessage) {
        guard message.isResponse else { return }
        // Pointers first: the other records of a message may stand in any order.
        for record in message.records {
            if case .pointer(let instance) = record.data, record.name == type, instance.isBelow(type) {
                point(to: instance, live: record.timeToLive > 0)
            }
        }
        for record in message.records {
            switch record.data {
            case .service(_, _, let port, let target):
                guard record.timeToLive > 0, port > 0, !target.labels.isEmpty else { continue }
                instances[record.name]?.port = port
                instances[record.name]?.target = target
            case .text(let strings):
                guard instances[record.name] != nil else { continue }
                instances[record.name]?.hints = Self.hints(strings)
            case .address(let address):
                add(address, of: record.name)
            case .pointer, .other:
                continue
            }
        }
    }

    /// The complete ones, in the order in which they appeared. Addresses: IPv4 before IPv6; link-local ones, useless
    /// without their interface, only when there is no other.
    package var gateways: [DiscoveredGateway] {
        order.compactMap { name in
            guard let instance = instances[name], let port = instance.port, let target = instance.target else {
                return nil
            }
            let all = (addresses[target] ?? []).sorted { left, right in
                (left.isLinkLocal ? 1 : 0, left.isIPv4 ? 0 : 1) < (right.isLinkLocal ? 1 : 0, right.isIPv4 ? 0 : 1)
            }
            let useful = all.filter { !$0.isLinkLocal }
            let label = DNSName(labels: Array(name.labels.dropLast(type.labels.count)))
            return DiscoveredGateway(
                name: label.labels.map { String(decoding: $0, as: UTF8.self) }.joined(separator: "."),
                host: target.text,
                port: port,
                addresses: useful.isEmpty ? all : useful,
                hints: instance.hints ?? [:],
                source: source
            )
        }
    }

    /// Everything that can be known of those who appeared is known.
    package var isComplete: Bool { !order.isEmpty && questions.count == 1 }

    private mutating func point(to name: DNSName, live: Bool) {
        if !live {
            instances[name] = nil
            order.removeAll { $0 == name }
        } else if instances[name] == nil, order.count < Self.mostInstances {
            instances[name] = Instance()
            order.append(name)
        }
    }

    private mutating func add(_ address: NetworkAddress, of host: DNSName) {
        guard !address.isUnspecified, !address.isLoopback || source != .multicast else { return }
        guard addresses[host] != nil || addresses.count < Self.mostHosts else { return }
        var known = addresses[host] ?? []
        guard known.count < Self.mostAddresses, !known.contains(address) else { return }
        known.append(address)
        addresses[host] = known
    }

    /// RFC 6763 §6.4: keys are ASCII without `=`, compared without case, the first of a kind counts. Ours are read as
    /// written.
    private static func hints(_ strings: [[UInt8]]) -> [String: String] {
        var hints: [String: String] = [:]
        var seen: Set<String> = []
        for string in strings where hints.count < mostHints && string.count <= longestHint {
            let parts = string.split(separator: UInt8(ascii: "="), maxSplits: 1, omittingEmptySubsequences: false)
            guard let key = parts.first, !key.isEmpty, key.allSatisfy({ $0 >= 0x20 && $0 < 0x7F }) else { continue }
            let name = String(decoding: key, as: UTF8.self)
            guard seen.insert(name.lowercased()).inserted else { continue }
            hints[name] = parts.count > 1 ? String(decoding: parts[1], as: UTF8.self) : ""
        }
        return hints
    }
}
