import JSONBytes

/// The tokens and cost of model calls.
package struct TokenUsage: Sendable, Equatable {
    package var input: Int64 = 0
    package var output: Int64 = 0
    package var cacheRead: Int64 = 0
    package var cacheWrite: Int64 = 0
    package var totalTokens: Int64 = 0
    package var cost: Double?

    package init() {}

    /// Nil if the value holds no usage, or only zeros, as in the gateway's own command replies.
    init?(_ value: JSONValue?) {
        guard let value, value.kind == .object else { return nil }
        func tokens(_ key: String) -> Int64 { min(max(value[key]?.int ?? 0, 0), Self.largest) }
        input = tokens("input")
        output = tokens("output")
        cacheRead = tokens("cacheRead")
        cacheWrite = tokens("cacheWrite")
        totalTokens = tokens("totalTokens")
        if let amount = value["cost"]?["total"]?.double, amount >= 0 { cost = amount }
        if self == TokenUsage() || (totalTokens == 0 && input == 0 && output == 0 && (cost ?? 0) == 0) { return nil }
    }

    package static func + (left: TokenUsage, right: TokenUsage) -> TokenUsage {
        var sum = left
        sum.input = min(left.input + right.input, largest)
        sum.output = min(left.output + right.output, largest)
        sum.cacheRead = min(left.cacheRead + right.cacheRead, largest)
        sum.cacheWrite = min(left.cacheWrite + right.cacheWrite, largest)
        sum.totalTokens = min(left.totalTokens + right.totalTokens, largest)
        if left.cost != nil || right.cost != nil { sum.cost = (left.cost ?? 0) + (right.cost ?? 0) }
        return sum
    }

    /// Far above any real count and far below overflow.
    private static let largest: Int64 = 1 << 48
}
