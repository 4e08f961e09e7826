package import Basics
import JSONBytes

/// Usage in numbers.
package struct BrokerUsage: Sendable, Equatable {
    /// A provider's limit for a span of time, and how much of it is used.
    package struct Window: Sendable, Equatable {
        package let provider: String
        package let name: String
        package let usedPercent: Double?
        package let resetsAt: Timestamp?

        package init(provider: String, name: String, usedPercent: Double?, resetsAt: Timestamp?) {
            self.provider = provider
            self.name = name
            self.usedPercent = usedPercent
            self.resetsAt = resetsAt
        }
    }

    private static let mostWindows = 10

    package let date: String?
    package let tokens: Int64?
    package let costUSD: Double?
    package let costIsLowerBound: Bool
    package let windows: [Window]

    package init(date: String?, tokens: Int64?, costUSD: Double?, costIsLowerBound: Bool, windows: [Window]) {
        self.date = date
        self.tokens = tokens
        self.costUSD = costUSD
        self.costIsLowerBound = costIsLowerBound
        self.windows = windows
    }

    package var payload: [UInt8] {
        JSONWriter.bytes(capacity: 512) { object in
            object.always("date", date)
            object.always("tokens", tokens)
            object.always("costUsd", costUSD)
            object.member("costIsLowerBound", costIsLowerBound)
            // The limit that is reached first.
            object.always("usedPercent", windows.compactMap(\.usedPercent).filter(\.isFinite).max())
            object.array("windows") { list in
                for window in windows.prefix(Self.mostWindows) {
                    list.object { item in
                        item.member("provider", BrokerText.short(window.provider, limit: 100))
                        item.member("name", BrokerText.short(window.name, limit: 100))
                        item.always("usedPercent", window.usedPercent)
                        item.always("resetsAt", window.resetsAt)
                    }
                }
            }
        }
    }
}
