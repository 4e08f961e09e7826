/// An idempotency key in which a gateway mistook some letters for a secret. Gateways since June write such rows
/// masked: three stars for a short secret, the ends of a long one around an ellipsis.
package struct MaskedKey: Sendable, Equatable {
    private let start: Substring
    private let end: Substring

    /// Nil if no part of the key is masked.
    package init?(_ key: String) {
        for mark in ["***", "…"] {
            guard let place = key.rangeOfText(mark) else { continue }
            start = key[..<place.lowerBound]
            end = key[place.upperBound...]
            return
        }
        return nil
    }

    /// Whether the key matches all unmasked letters.
    package func agrees(with key: some StringProtocol) -> Bool {
        key.count >= start.count + end.count && key.hasPrefix(start) && key.hasSuffix(end)
    }
}
