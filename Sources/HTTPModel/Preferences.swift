/// A `Prefer` field (RFC 7240). Unknown preferences are ignored, as the RFC asks. A `wait` that is not a number of
/// seconds is an error, because the caller would otherwise expect an answer that does not come.
package struct Preferences: Sendable, Equatable {
    /// The `wait` preference in seconds, at most one day.
    package var wait: Int?
    package var respondAsync = false

    package static let maxWait = 86_400

    package init() {}

    /// - Parameter value: all lines of the field, joined by commas.
    package init(parsing value: ArraySlice<UInt8>) throws(HeaderValueError) {
        for element in ListElements(value) {
            var scanner = ValueScanner(element)
            guard let name = scanner.token() else { throw HeaderValueError(.prefer) }
            scanner.skipBlanks()
            var argument: [UInt8]?
            if scanner.take(0x3D) {
                scanner.skipBlanks()
                guard let text = scanner.tokenOrQuotedString() else { throw HeaderValueError(.prefer) }
                argument = text
            }
            scanner.skipBlanks()
            guard scanner.isAtEnd || scanner.peek == 0x3B else { throw HeaderValueError(.prefer) }
            // If a preference occurs twice, the first one counts (RFC 7240 §2).
            if ASCII.equalIgnoringCase(name, "wait".utf8), wait == nil {
                guard let argument, let seconds = Self.seconds(argument) else { throw HeaderValueError(.prefer) }
                wait = seconds
            } else if ASCII.equalIgnoringCase(name, "respond-async".utf8) {
                respondAsync = true
            }
        }
    }

    private static func seconds(_ digits: [UInt8]) -> Int? {
        guard !digits.isEmpty, digits.allSatisfy(ASCII.isDigit) else { return nil }
        var seconds = 0
        for digit in digits { seconds = min(seconds * 10 + Int(digit - 0x30), maxWait) }
        return seconds
    }
}
