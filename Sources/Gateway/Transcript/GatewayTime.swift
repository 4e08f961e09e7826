import Basics
import JSONBytes

/// Times as gateways and transcripts write them: milliseconds, seconds, numeric text, ISO.
enum GatewayTime {
    static func read(_ value: JSONValue?) -> Timestamp? {
        guard let value else { return nil }
        if let number = value.double { return of(number) }
        guard let text = value.string else { return nil }
        return Double(text).flatMap { of($0) } ?? Timestamp(rfc3339: text)
    }

    /// A number below 10^10 counts seconds. What is no time of this millennium is none.
    private static func of(_ number: Double) -> Timestamp? {
        let milliseconds = number < 1e10 ? number * 1000 : number
        guard milliseconds >= 946_684_800_000, milliseconds < 32_503_680_000_000 else { return nil }
        return Timestamp(milliseconds: Int64(milliseconds))
    }
}
