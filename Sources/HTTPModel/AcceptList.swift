/// An `Accept` field: media ranges with their weights (RFC 9110 §12.5.1).
package struct AcceptList: Sendable, Equatable {
    package struct Range: Sendable, Equatable {
        /// The type; `*` matches any.
        package var type: String
        var subtype: String
        /// Parameters other than `q`; they make a range more specific.
        package var parameters: [MediaType.Parameter]
        /// The weight in thousandths, from 0 to 1000.
        package var weight: Int
    }

    /// Real clients send fewer than ten ranges; more would hardly change the choice.
    static let maxRanges = 32

    package private(set) var ranges: [Range] = []

    /// The list of a request without `Accept`, which accepts any type.
    package static let anything = AcceptList()

    private init() {
        ranges = [Range(type: "*", subtype: "*", parameters: [], weight: 1000)]
    }

    /// - Parameter value: all lines of the field, joined by commas.
    package init(parsing value: ArraySlice<UInt8>) throws(HeaderValueError) {
        for element in ListElements(value) {
            guard ranges.count < Self.maxRanges else { break }
            let media = try MediaType(parsing: element, field: .accept)
            if media.type == "*", media.subtype != "*" { throw HeaderValueError(.accept) }
            var weight = 1000
            var parameters: [MediaType.Parameter] = []
            for parameter in media.parameters {
                if parameter.name == "q" {
                    guard let parsed = QualityValue.thousandths(Array(parameter.value.utf8)[...]) else {
                        throw HeaderValueError(.accept)
                    }
                    weight = parsed
                    // The parameters after `q` are obsolete extensions; they select nothing.
                    break
                }
                parameters.append(parameter)
            }
            ranges.append(Range(type: media.type, subtype: media.subtype, parameters: parameters, weight: weight))
        }
        // An empty field counts as absent (RFC 9110 §12.5.1 lets a server disregard it).
        if ranges.isEmpty { self = .anything }
    }

    /// The index of the offer the client prefers; the first one wins a tie. Nil means 406.
    package func choose(among offers: [MediaType]) -> Int? {
        var best: (index: Int, weight: Int)?
        for (index, offer) in offers.enumerated() {
            let weight = weight(of: offer)
            if weight > 0, weight > (best?.weight ?? 0) { best = (index, weight) }
        }
        return best?.index
    }

    /// The weight of the most specific range that matches; 0 when none matches.
    package func weight(of offer: MediaType) -> Int {
        var weight = 0
        var specificity = -1
        for range in ranges {
            guard let fit = Self.specificity(of: range, for: offer), fit > specificity else { continue }
            specificity = fit
            weight = range.weight
        }
        return weight
    }

    /// Whether a range is this very type, and accepts it.
    package func names(_ type: MediaType) -> Bool {
        ranges.contains { $0.type == type.type && $0.subtype == type.subtype && $0.weight > 0 }
    }

    private static func specificity(of range: Range, for offer: MediaType) -> Int? {
        if range.type == "*" { return range.parameters.isEmpty ? 0 : nil }
        guard range.type == offer.type else { return nil }
        if range.subtype == "*" { return range.parameters.isEmpty ? 1 : nil }
        guard range.subtype == offer.subtype else { return nil }
        for parameter in range.parameters {
            // Ladle sends text as UTF-8 only, so a request for UTF-8 always matches.
            if parameter.name == "charset", ASCII.equalIgnoringCase(parameter.value.utf8, "utf-8".utf8) { continue }
            guard offer.parameter(parameter.name) == parameter.value else { return nil }
        }
        return 2 + range.parameters.count
    }
}
