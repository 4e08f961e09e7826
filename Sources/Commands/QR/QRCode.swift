/// A QR code of bytes (ISO/IEC 18004): the smallest of versions 1 to 15 that holds them, with the stronger correction M
/// if that needs no larger size.
package struct QRCode: Sendable, Equatable {
    /// The share of damaged codewords that can be repaired: about 7 % or 15 %.
    package enum Correction: Sendable, CaseIterable {
        case low, medium

        /// The two bits in the format information.
        fileprivate var bits: Int { self == .low ? 0b01 : 0b00 }
    }

    /// Larger codes do not fit a terminal.
    package static let versions = 1...15
    static let masks = 0...7

    package let version: Int
    package let correction: Correction
    package let mask: Int
    /// Rows of modules, true for dark.
    package let modules: [[Bool]]

    package var size: Int { modules.count }

    /// Nil if the largest version cannot hold the bytes.
    package init?(_ text: [UInt8]) {
        guard let version = Self.versions.first(where: { text.count <= Self.capacity($0, .low) }) else { return nil }
        let correction: Correction = text.count <= Self.capacity(version, .medium) ? .medium : .low
        let drawing = QRDrawing(version: version, QRBlocks.codewords(text, version, correction))
        var best: (mask: Int, drawing: QRDrawing, penalty: Int)?
        for mask in Self.masks {
            let masked = drawing.masked(mask, format: correction.bits << 3 | mask)
            let penalty = masked.penalty
            if penalty < best?.penalty ?? .max { best = (mask, masked, penalty) }
        }
        guard let best else { return nil }
        self.init(version: version, correction: correction, mask: best.mask, modules: best.drawing.dark)
    }

    /// A code of a fixed form; nil if the text does not fit.
    package init?(_ text: [UInt8], version: Int, _ correction: Correction, mask: Int) {
        guard Self.versions.contains(version), Self.masks.contains(mask),
            text.count <= Self.capacity(version, correction)
        else { return nil }
        let drawing = QRDrawing(version: version, QRBlocks.codewords(text, version, correction))
        let masked = drawing.masked(mask, format: correction.bits << 3 | mask)
        self.init(version: version, correction: correction, mask: mask, modules: masked.dark)
    }

    private init(version: Int, correction: Correction, mask: Int, modules: [[Bool]]) {
        self.version = version
        self.correction = correction
        self.mask = mask
        self.modules = modules
    }

    /// The bytes that fit after the mode (4 bits) and the count (8 bits, from version 10 on 16).
    package static func capacity(_ version: Int, _ correction: Correction) -> Int {
        QRBlocks(version, correction).dataCount - (version < 10 ? 2 : 3)
    }
}
