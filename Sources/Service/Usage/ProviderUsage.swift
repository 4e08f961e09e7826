import Basics
import Gateway
package import JSONBytes

/// The used share of one subscription.
package struct ProviderUsage: Sendable, Equatable {
    struct Window: Sendable, Equatable {
        let name: String
        let usedPercent: Double?
        let resetsAt: Timestamp?

        /// The used share; nil if the window has ended since the gateway asked, because nothing is known of the new
        /// one.
        func percent(now: Timestamp) -> Double? {
            if let resetsAt, resetsAt <= now { return nil }
            return usedPercent
        }
    }

    let id: String
    let name: String
    let plan: String?
    let error: String?
    let windows: [Window]

    /// In bytes: names share one line of a terminal, an error is a sentence.
    private static let longestWindowName = 64
    private static let longestName = 128
    private static let longestError = 300
    private static let longestID = 64
    /// Providers that allow use beyond the limit count past 100; a larger number than this is not credible.
    private static let mostPercent = 10_000.0

    init(_ provider: UsageStatus.Provider) {
        id = Self.id(provider.id)
        name = provider.name.map { $0.shown(bytes: Self.longestName) } ?? id
        plan = provider.plan.map { $0.shown(bytes: Self.longestName) }
        error = provider.error.map { $0.shown(bytes: Self.longestError) }
        windows = provider.windows.map { window in
            Window(
                name: window.label.shown(bytes: Self.longestWindowName),
                usedPercent: window.usedPercent.map { (min(max($0, 0), Self.mostPercent) * 10).rounded() / 10 },
                resetsAt: window.resetAt
            )
        }
    }

    /// The provider's id, limited to lower-case letters, digits and hyphens, since new providers come with each
    /// release.
    private static func id(_ text: String) -> String {
        let bytes = text.utf8.prefix(longestID).map { byte -> UInt8 in
            if byte.isASCIILetter { return byte | 0x20 }
            return byte.isASCIIDigit ? byte : UInt8(ascii: "-")
        }
        return bytes.isEmpty ? "unknown" : String(decoding: bytes, as: UTF8.self)
    }

    /// - Parameter showsTimeLeft: false leaves out values that change constantly.
    func write(to writer: inout JSONWriter, now: Timestamp, showsTimeLeft: Bool) {
        writer.object { object in
            object.member("id", id)
            object.member("name", name)
            object.member("plan", plan)
            object.member("error", error)
            object.array("windows") { list in
                for window in windows {
                    list.object { object in
                        object.member("name", window.name)
                        if let percent = window.percent(now: now) {
                            object.member("usedPercent", percent)
                        } else {
                            object.key("usedPercent")
                            object.null()
                        }
                        object.member("resetsAt", window.resetsAt)
                        guard showsTimeLeft, let end = window.resetsAt, end > now else { return }
                        object.member("resetsInMs", end.milliseconds - now.milliseconds)
                    }
                }
            }
        }
    }
}

extension UsageFigures: JSONWritable {
    /// Writes the members into an open object.
    package func writeMembers(to writer: inout JSONWriter) {
        writer.member("tokens", tokens)
        writer.member("input", input)
        writer.member("output", output)
        writer.member("cacheRead", cacheRead)
        writer.member("cacheWrite", cacheWrite)
        writeCost(to: &writer)
    }

    /// In dollars, to a millionth; nil if no price is known.
    var knownCost: Double? { cost > 0 || unpriced == 0 ? (cost * 1_000_000).rounded() / 1_000_000 : nil }

    func writeCost(to writer: inout JSONWriter) {
        writer.member("costUsd", knownCost)
        writer.member("costIsLowerBound", unpriced > 0)
    }

    package func write(to writer: inout JSONWriter) { writer.object { self.writeMembers(to: &$0) } }
}
