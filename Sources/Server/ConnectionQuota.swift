import Basics
import EventLoops

/// Counts connections by their holder, and decides which further ones are served. Another user of this host and each
/// remote network have limits of their own, and all of them together leave slots that only the owner can take.
struct ConnectionQuota {
    enum Slot: UInt8 {
        /// A slot of the control socket, in addition to the limit of all connections.
        case control
        case owner
        case foreign
        /// Over the limit; the peer gets the reason.
        case refused
    }

    /// Connections with the same holder count together.
    private enum Holder: Hashable {
        case user(UInt32)
        /// The owner of one IPv6 address has its whole network, so the network counts.
        case network(NetworkAddress)
        /// Clients of loopback that left before they were looked up, whoever they were: no flood of them takes the owner's slots.
        case gone
    }

    /// Slots that only the owner can take: more than one person's clients hold open at a time.
    static let mostForOwner = 64
    /// Extra slots for the control socket: a command must reach a server whose other slots are all taken. Each command
    /// has one connection.
    static let forControl = 8
    /// The most of the owner's connections over the limit that get a refusal; further ones are closed silently, so that
    /// a flood of refusals cannot use up all descriptors.
    static let mostRefused = 32

    private let limits: ServerLimits
    private let forOwner: Int
    private var counts = [0, 0, 0, 0]
    private var holders: [Holder: Int] = [:]

    init(_ limits: ServerLimits) {
        self.limits = limits
        // With few slots, a quarter of them.
        forOwner = min(Self.mostForOwner, limits.connections / 4)
    }

    private var served: Int { counts[Int(Slot.owner.rawValue)] + counts[Int(Slot.foreign.rawValue)] }

    /// The slot of a new connection; nil if it must be closed at once.
    mutating func take(_ info: ConnectionInfo) -> Slot? {
        guard let slot = slot(for: info) else { return nil }
        counts[Int(slot.rawValue)] += 1
        return slot
    }

    private mutating func slot(for info: ConnectionInfo) -> Slot? {
        if info.listener == .control, counts[Int(Slot.control.rawValue)] < Self.forControl { return .control }
        guard let holder = holder(of: info) else {
            if served < limits.connections { return .owner }
            return counts[Int(Slot.refused.rawValue)] < Self.mostRefused ? .refused : nil
        }
        let held = holders[holder, default: 0]
        guard held < limits.connectionsPerPeer, served < limits.connections,
            counts[Int(Slot.foreign.rawValue)] < limits.connections - forOwner
        else { return nil }
        holders[holder] = held + 1
        return .foreign
    }

    mutating func giveBack(_ slot: Slot, of info: ConnectionInfo) {
        counts[Int(slot.rawValue)] -= 1
        guard slot == .foreign, let holder = holder(of: info), let held = holders[holder] else { return }
        holders[holder] = held > 1 ? held - 1 : nil
    }

    func isForeign(_ info: ConnectionInfo) -> Bool { holder(of: info) != nil }

    /// Nil for the owner, and on loopback if the system names no users.
    private func holder(of info: ConnectionInfo) -> Holder? {
        if let user = info.user { return user == limits.owner ? nil : .user(user) }
        guard case .ip(let address, port: _) = info.remote else { return nil }
        guard address.isLoopback else { return .network(address.network) }
        return limits.namesUsers ? .gone : nil
    }
}
