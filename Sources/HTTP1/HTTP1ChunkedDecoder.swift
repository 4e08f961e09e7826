import Basics
import HTTPModel

/// Decodes a chunked body (RFC 9112 §7.1). It stores no bytes: data comes out as ranges of the input.
///
/// The decoder is stricter than the grammar where attackers abuse leniency: no blanks around sizes and extensions, at
/// most 16 size digits, CR LF everywhere. Trailer fields are checked for form, counted and dropped: Ladle reads none,
/// and merging them into the head would let an attacker smuggle framing fields.
package struct HTTP1ChunkedDecoder: Sendable {
    package enum Event: Sendable, Equatable {
        case needMore
        case data(Range<Int>)
        case end
    }

    private enum State: UInt8 {
        case firstDigit, digits, sizeLF
        case extensionName, extensionNameRest, extensionValue, extensionToken
        case extensionQuoted, extensionEscape, extensionAfterQuote
        case data, dataCR, dataLF
        case trailerLine, trailerName, trailerValue, trailerLF, finalLF
        case done
    }

    private var state = State.firstDigit
    private var digitCount: UInt8 = 0
    private var extensionBytes: UInt32 = 0
    private var trailerBytes: UInt32 = 0
    /// Bytes left in the chunk being read.
    private var remaining: UInt64 = 0
    /// Data bytes that the chunk sizes have announced so far.
    private var total: UInt64 = 0

    package init() {}

    package var isDone: Bool { state == .done }

    /// Takes as much of `input` as it can and moves `offset` past it.
    package mutating func next(
        in input: Span<UInt8>,
        from offset: inout Int,
        bodyLimit: Int,
        limits: HTTP1Limits
    ) throws(HTTP1ParseError) -> Event {
        while state != .done {
            guard offset < input.count else { return .needMore }
            if state == .data {
                let length = Int(min(remaining, UInt64(input.count - offset)))
                let range = offset..<offset + length
                offset += length
                remaining -= UInt64(length)
                if remaining == 0 { state = .dataCR }
                return .data(range)
            }
            let byte = input[offset]
            try take(byte, bodyLimit: bodyLimit, limits: limits)
            offset += 1
        }
        return .end
    }

    private mutating func take(_ byte: UInt8, bodyLimit: Int, limits: HTTP1Limits) throws(HTTP1ParseError) {
        switch state {
        case .firstDigit, .digits: try takeSize(byte)
        case .sizeLF:
            guard byte == 0x0A else { throw .badChunkSize }
            if remaining == 0 {
                state = .trailerLine
            } else {
                guard remaining <= UInt64(bodyLimit), total + remaining <= UInt64(bodyLimit) else {
                    throw .bodyTooLarge(limit: bodyLimit)
                }
                total += remaining
                state = .data
            }
        case .dataCR:
            guard byte == 0x0D else { throw .badChunkEnd }
            state = .dataLF
        case .dataLF:
            guard byte == 0x0A else { throw .badChunkEnd }
            state = .firstDigit
        case .trailerLine, .trailerName, .trailerValue, .trailerLF, .finalLF:
            try takeTrailer(byte, limit: limits.trailer)
        case .data, .done:
            return
        default:
            try takeExtension(byte, limit: limits.chunkExtensions)
        }
    }

    private mutating func takeSize(_ byte: UInt8) throws(HTTP1ParseError) {
        if let digit = Hex.value(of: byte) {
            if state == .firstDigit {
                remaining = 0
                digitCount = 0
                state = .digits
            }
            digitCount += 1
            guard digitCount <= 16, remaining < 1 << 59 else { throw .badChunkSize }
            remaining = remaining << 4 | UInt64(digit)
        } else if state == .digits, byte == 0x0D {
            state = .sizeLF
        } else if state == .digits, byte == 0x3B {
            state = .extensionName
        } else {
            throw .badChunkSize
        }
    }

    private mutating func takeExtension(_ byte: UInt8, limit: Int) throws(HTTP1ParseError) {
        extensionBytes += 1
        guard extensionBytes <= UInt32(clamping: limit) else { throw .chunkExtensionsTooLong(limit: limit) }
        switch state {
        case .extensionName, .extensionValue:
            if state == .extensionValue, byte == 0x22 {
                state = .extensionQuoted
            } else {
                guard ASCII.isToken(byte) else { throw .badChunkExtension }
                state = state == .extensionName ? .extensionNameRest : .extensionToken
            }
        case .extensionQuoted:
            if byte == 0x22 {
                state = .extensionAfterQuote
            } else if byte == 0x5C {
                state = .extensionEscape
            } else if !ASCII.isFieldValue(byte) {
                throw .badChunkExtension
            }
        case .extensionEscape:
            guard ASCII.isFieldValue(byte) else { throw .badChunkExtension }
            state = .extensionQuoted
        default:
            if byte == 0x0D {
                state = .sizeLF
            } else if byte == 0x3B {
                state = .extensionName
            } else if byte == 0x3D, state == .extensionNameRest {
                state = .extensionValue
            } else if state == .extensionAfterQuote || !ASCII.isToken(byte) {
                throw .badChunkExtension
            }
        }
    }

    private mutating func takeTrailer(_ byte: UInt8, limit: Int) throws(HTTP1ParseError) {
        switch state {
        case .finalLF:
            guard byte == 0x0A else { throw .badTrailer }
            state = .done
            return
        case .trailerLine where byte == 0x0D:
            state = .finalLF
            return
        default:
            trailerBytes += 1
            guard trailerBytes <= UInt32(clamping: limit) else { throw .trailerTooLarge(limit: limit) }
        }
        switch state {
        case .trailerLine:
            guard ASCII.isToken(byte) else { throw .badTrailer }
            state = .trailerName
        case .trailerName:
            if byte == 0x3A {
                state = .trailerValue
            } else if !ASCII.isToken(byte) {
                throw .badTrailer
            }
        case .trailerValue:
            if byte == 0x0D {
                state = .trailerLF
            } else if !ASCII.isFieldValue(byte) {
                throw .badTrailer
            }
        default:
            guard byte == 0x0A else { throw .badTrailer }
            state = .trailerLine
        }
    }
}
