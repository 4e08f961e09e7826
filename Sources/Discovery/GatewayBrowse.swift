import Basics

/// Collects the answers about one service and lists the questions still open. It uses no sockets and no clock.
package struct GatewayBrowse: Sendable {
    private struct Instance {
        var port: UInt16?
        var target: DNSName?
        var hints: [String: String]?
    }

    private let type: DNSName
    private let service: AnnouncedService
    private let source: DiscoveredGateway.Source
    private var order: [DNSName] = []
    private var instances: [DNSName: Instance] = [:]
    private var addresses: [DNSName: [NetworkAddress]] = [:]

    /// Anyone on the network can announce gateways; the limit is a list that a person can still read.
    private static let mostInstances = 64
    private static let mostHosts = 128
    private static let mostAddresses = 16
    private static let mostHints = 32
    private static let longestHint = 256

    /// A nil `domain` means multicast in `local`.
    package init?(for service: AnnouncedService = .gateway, domain: String? = nil) {
        guard let type = DNSName("\(service.rawValue).\(domain ?? "local")") else { return nil }
        self.type = type
        self.service = service
        source = domain.map { .domain($0) } ?? .multicast
    }

    /// The questions to ask: always for the list of gateways, then for the missing records of each gateway.
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
        // Pointers are read first, because the other records of a message may stand in any order.
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

    /// The gateways whose port and host are known, in the order of their appearance. IPv4 addresses come before IPv6.
    /// Link-local addresses are useless without their interface, so they appear only when there are no others.
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
                source: source,
                service: service
            )
        }
    }

    /// All records of all gateways found so far are known.
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

    /// RFC 6763 §6.4: keys are ASCII without `=`, compared without case, and the first of equal keys counts. The keys
    /// that Ladle reads are matched as written.
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
