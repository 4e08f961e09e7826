import Basics

/// The parts of Ladle that messages from the broker may reach, as `mqtt.scopes` names them.
package struct BrokerScopes: OptionSet, Sendable, Hashable {
    package let rawValue: UInt8

    package init(rawValue: UInt8) { self.rawValue = rawValue }

    package static let read = BrokerScopes(rawValue: 1)
    package static let send = BrokerScopes(rawValue: 2)
    package static let control = BrokerScopes(rawValue: 4)
    package static let approvals = BrokerScopes(rawValue: 8)
    package static let all: BrokerScopes = [.read, .send, .control, .approvals]

    package enum Problem: Error, Equatable, Sendable {
        case unknown(String, nearest: String?)
        /// A scope of Ladle's that no broker gets.
        case notOverBroker(String)
    }

    private static let table: [(name: String, scope: BrokerScopes)] = [
        ("read", .read), ("send", .send), ("control", .control), ("approvals", .approvals),
    ]
    private static let kept = ["admin", "identity", "nodes"]

    package init(names: some Sequence<String>) throws(Problem) {
        self = []
        for name in names {
            guard let row = Self.table.first(where: { $0.name == name }) else {
                throw Self.kept.contains(name)
                    ? .notOverBroker(name)
                    : .unknown(name.shortened, nearest: NearestName.of(name, in: Self.table.map(\.name)))
            }
            insert(row.scope)
        }
    }

    /// The names in the order of the documentation.
    package var names: [String] { Self.table.filter { contains($0.scope) }.map(\.name) }

    /// Whether any topic of commands is subscribed to.
    package var takesCommands: Bool { !isDisjoint(with: [.send, .control, .approvals]) }
}

extension BrokerScopes.Problem: CustomStringConvertible {
    package var description: String {
        switch self {
        case .unknown(let name, let nearest?): "there is no scope \(name); did you mean \(nearest)?"
        case .unknown(let name, nil): "there is no scope \(name); there are read, send, control and approvals"
        case .notOverBroker(let name):
            "the scope \(name) is not given to a broker, behind which nobody is known by name"
        }
    }
}
