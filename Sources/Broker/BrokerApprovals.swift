package import Basics
import JSONBytes

/// Approvals that wait for a decision.
package struct BrokerApprovals: Sendable, Equatable {
    package struct Item: Sendable, Equatable {
        package let id: String
        package let title: String
        package let expiresAt: Timestamp?

        package init(id: String, title: String, expiresAt: Timestamp?) {
            self.id = id
            self.title = title
            self.expiresAt = expiresAt
        }
    }

    private static let mostItems = 5

    package let pending: Int
    package let list: [Item]

    /// - Parameter pending: how many wait; `list` may be fewer.
    package init(pending: Int, list: [Item]) {
        self.pending = pending
        self.list = list
    }

    package var payload: [UInt8] {
        JSONWriter.bytes(capacity: 1024) { object in
            object.member("pending", pending)
            object.array("list") { list in
                for item in self.list.prefix(Self.mostItems) {
                    list.object { object in
                        object.member("id", item.id)
                        object.member("title", BrokerText.short(item.title))
                        object.always("expiresAt", item.expiresAt)
                    }
                }
            }
            object.member("live", true)
        }
    }

    /// While the link is away nobody knows what waits, and an old list would invite a wrong decision.
    package static var unknown: [UInt8] {
        JSONWriter.bytes { object in
            object.member("pending", "None")
            object.array("list") { _ in }
            object.member("live", false)
        }
    }
}
