package import Basics
import JSONBytes

/// Runs under way, in one line and as a short list.
package struct BrokerActivity: Sendable, Equatable {
    package struct Run: Sendable, Equatable {
        package let id: String
        package let session: String
        package let label: String

        package init(id: String, session: String, label: String) {
            self.id = id
            self.session = session
            self.label = label
        }
    }

    private static let mostRuns = 10
    private static let longestLabel = 120

    package let at: Timestamp
    package let active: Int
    package let headline: String
    package let runs: [Run]

    /// - Parameter active: the number of runs under way; `runs` may be fewer.
    package init(at: Timestamp, active: Int, headline: String, runs: [Run]) {
        self.at = at
        self.active = active
        self.headline = headline
        self.runs = runs
    }

    /// At most 4 KiB: it leaves out runs at the end of the list where they do not fit.
    package var payload: [UInt8] {
        var shown = min(runs.count, Self.mostRuns)
        while true {
            let bytes = payload(first: shown)
            if bytes.count <= BrokerLimits.activityBytes || shown == 0 { return bytes }
            shown -= 1
        }
    }

    private func payload(first count: Int) -> [UInt8] {
        JSONWriter.bytes(capacity: 1024) { object in
            object.member("at", at)
            object.member("active", active)
            object.member("headline", BrokerText.short(headline))
            object.array("runs") { list in
                for run in runs.prefix(count) {
                    list.object { item in
                        item.member("id", run.id)
                        item.member("session", run.session)
                        item.member("label", BrokerText.short(run.label, limit: Self.longestLabel))
                    }
                }
            }
        }
    }
}
