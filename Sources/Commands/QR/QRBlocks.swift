/// The division of a QR code's codewords into blocks, each with its own correction (ISO/IEC 18004, table 9).
struct QRBlocks {
    private static let totals = [26, 44, 70, 100, 134, 172, 196, 242, 292, 346, 404, 466, 532, 581, 655]
    private static let lowCorrection = [7, 10, 15, 20, 26, 18, 20, 24, 30, 18, 20, 24, 26, 30, 22]
    private static let mediumCorrection = [10, 16, 26, 18, 24, 16, 18, 22, 22, 26, 30, 22, 22, 24, 24]
    private static let lowBlocks = [1, 1, 1, 1, 1, 2, 2, 2, 2, 4, 4, 4, 4, 4, 6]
    private static let mediumBlocks = [1, 1, 1, 2, 2, 4, 4, 4, 5, 5, 5, 8, 9, 9, 10]

    let total: Int
    let blocks: Int
    /// The number of correction codewords in each block.
    let correctionCount: Int

    init(_ version: Int, _ correction: QRCode.Correction) {
        total = Self.totals[version - 1]
        blocks = (correction == .low ? Self.lowBlocks : Self.mediumBlocks)[version - 1]
        correctionCount = (correction == .low ? Self.lowCorrection : Self.mediumCorrection)[version - 1]
    }

    var dataCount: Int { total - blocks * correctionCount }

    /// All codewords of a text, in the order of drawing.
    static func codewords(_ text: [UInt8], _ version: Int, _ correction: QRCode.Correction) -> [UInt8] {
        let form = QRBlocks(version, correction)
        return form.interleaved(form.data(text, version))
    }

    /// Byte mode, count, the text, the end, and alternating padding.
    private func data(_ text: [UInt8], _ version: Int) -> [UInt8] {
        var bits: [Bool] = []
        func append(_ value: Int, _ count: Int) {
            for place in (0..<count).reversed() { bits.append(value >> place & 1 == 1) }
        }
        append(0b0100, 4)
        append(text.count, version < 10 ? 8 : 16)
        for byte in text { append(Int(byte), 8) }
        append(0, min(4, dataCount * 8 - bits.count))
        append(0, (8 - bits.count % 8) % 8)
        var bytes = stride(from: 0, to: bits.count, by: 8).map { start in
            bits[start..<start + 8].reduce(UInt8(0)) { $0 << 1 | ($1 ? 1 : 0) }
        }
        var padding: UInt8 = 0xEC
        while bytes.count < dataCount {
            bytes.append(padding)
            padding ^= 0xEC ^ 0x11
        }
        return bytes
    }

    /// The first codeword of each block, then the second of each, and so on; the corrections after all data. If the
    /// data do not divide evenly, the last blocks are one codeword longer.
    private func interleaved(_ data: [UInt8]) -> [UInt8] {
        let short = dataCount / blocks
        let longer = dataCount % blocks
        var parts: [[UInt8]] = []
        var start = 0
        for block in 0..<blocks {
            let count = short + (block >= blocks - longer ? 1 : 0)
            parts.append(Array(data[start..<start + count]))
            start += count
        }
        let corrections = parts.map { ReedSolomon.remainder(of: $0, count: correctionCount) }
        var result: [UInt8] = []
        for place in 0...short {
            for part in parts where place < part.count { result.append(part[place]) }
        }
        for place in 0..<correctionCount {
            for part in corrections { result.append(part[place]) }
        }
        return result
    }
}
