import Basics

/// The format and size of a picture, read from its own bytes. Only a whole file passes: nothing is missing at its end and
/// nothing is appended.
package struct ImageHeader: Sendable, Equatable {
    enum Format: String, Sendable {
        case png = "image/png"
        case jpeg = "image/jpeg"
        case webp = "image/webp"
    }

    /// The gateway allows 2 MiB for an avatar file.
    package static let maximumBytes = 2 << 20
    /// A viewer needs hundreds of megabytes to decode larger pictures.
    static let maximumSide = 8192

    let format: Format
    package let width: Int
    package let height: Int

    package var mimeType: String { format.rawValue }

    package init(checking bytes: [UInt8], limit: Int = maximumBytes) throws(ImageError) {
        guard bytes.count <= limit else { throw .tooLarge(bytes: bytes.count, limit: limit) }
        let size: (width: Int, height: Int)
        if bytes.starts(with: PNGReader.signature) {
            format = .png
            size = try PNGReader.size(bytes)
        } else if bytes.starts(with: [0xFF, 0xD8, 0xFF]) {
            format = .jpeg
            size = try JPEGReader.size(bytes)
        } else if bytes.starts(with: Array("RIFF".utf8)), bytes.count >= 12, bytes[8..<12].elementsEqual("WEBP".utf8) {
            format = .webp
            size = try WebPReader.size(bytes)
        } else {
            throw .unknownFormat
        }
        guard (1...Self.maximumSide).contains(size.width), (1...Self.maximumSide).contains(size.height) else {
            throw .dimensions(width: size.width, height: size.height, limit: Self.maximumSide)
        }
        (width, height) = size
    }
}

package enum ImageError: Error, Equatable, Sendable {
    case unknownFormat
    case truncated
    case trailingBytes(offset: Int)
    case damaged(offset: Int)
    case dimensions(width: Int, height: Int, limit: Int)
    case tooLarge(bytes: Int, limit: Int)

    package var message: String {
        switch self {
        case .unknownFormat: "the content is neither PNG, JPEG nor WebP"
        case .truncated: "the picture ends before its data does"
        case .trailingBytes(let offset): "there are bytes after the end of the picture, from byte \(offset)"
        case .damaged(let offset): "the picture is damaged at byte \(offset)"
        case .dimensions(let width, let height, let limit):
            "the picture measures \(width) x \(height), allowed are 1 to \(limit) on each side"
        case .tooLarge(let bytes, let limit): "the picture has \(bytes) bytes, at most \(limit) are allowed"
        }
    }
}

/// Chunks up to IEND, each with a right checksum (PNG, ISO/IEC 15948 §5).
private enum PNGReader {
    static let signature: [UInt8] = [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A]

    static func size(_ bytes: [UInt8]) throws(ImageError) -> (width: Int, height: Int) {
        var size = (width: 0, height: 0)
        var offset = 8
        var hasData = false
        while true {
            guard offset + 12 <= bytes.count else { throw .truncated }
            let length = bytes.bigEndian32(offset)
            let end = offset + 12 + length
            guard length <= bytes.count, end <= bytes.count else { throw .truncated }
            let type = bytes[offset + 4..<offset + 8]
            guard CRC32.of(bytes[offset + 4..<end - 4]) == UInt32(bytes.bigEndian32(end - 4)) else {
                throw .damaged(offset: offset)
            }
            if offset == 8 {
                guard type.elementsEqual("IHDR".utf8), length == 13 else { throw .damaged(offset: offset) }
                size = (bytes.bigEndian32(16), bytes.bigEndian32(20))
            }
            if type.elementsEqual("IDAT".utf8) { hasData = true }
            if type.elementsEqual("IEND".utf8) {
                guard hasData, length == 0 else { throw .damaged(offset: offset) }
                guard end == bytes.count else { throw .trailingBytes(offset: end) }
                return size
            }
            offset = end
        }
    }
}

/// Segments and scans up to EOI (ITU-T T.81 annex B).
private enum JPEGReader {
    static func size(_ bytes: [UInt8]) throws(ImageError) -> (width: Int, height: Int) {
        var size: (width: Int, height: Int)?
        var hasScan = false
        var offset = 2
        while true {
            guard offset + 1 < bytes.count else { throw .truncated }
            guard bytes[offset] == 0xFF else { throw .damaged(offset: offset) }
            let marker = bytes[offset + 1]
            switch marker {
            case 0xFF: offset += 1
            case 0xD9:
                guard let size, hasScan else { throw .damaged(offset: offset) }
                guard offset + 2 == bytes.count else { throw .trailingBytes(offset: offset + 2) }
                return size
            case 0x00, 0x01, 0xD0...0xD8: throw .damaged(offset: offset)
            default:
                guard offset + 3 < bytes.count else { throw .truncated }
                let length = bytes.bigEndian16(offset + 2)
                guard length >= 2 else { throw .damaged(offset: offset) }
                guard offset + 2 + length <= bytes.count else { throw .truncated }
                if isFrameStart(marker) {
                    guard length >= 8, size == nil else { throw .damaged(offset: offset) }
                    size = (bytes.bigEndian16(offset + 7), bytes.bigEndian16(offset + 5))
                }
                offset += 2 + length
                if marker == 0xDA {
                    hasScan = true
                    offset = try endOfScan(bytes, offset)
                }
            }
        }
    }

    private static func isFrameStart(_ marker: UInt8) -> Bool {
        (0xC0...0xCF).contains(marker) && marker != 0xC4 && marker != 0xC8 && marker != 0xCC
    }

    /// The next marker that is neither a stuffed 0xFF nor a restart.
    private static func endOfScan(_ bytes: [UInt8], _ start: Int) throws(ImageError) -> Int {
        var offset = start
        while offset + 1 < bytes.count {
            if bytes[offset] == 0xFF, bytes[offset + 1] != 0x00, !(0xD0...0xD7).contains(bytes[offset + 1]) {
                return offset
            }
            offset += 1
        }
        throw .truncated
    }
}

/// A RIFF file of exactly the stated size; its first chunk has the dimensions (RFC 9649 §2).
private enum WebPReader {
    static func size(_ bytes: [UInt8]) throws(ImageError) -> (width: Int, height: Int) {
        let end = bytes.littleEndian32(4) + 8
        guard end <= bytes.count else { throw .truncated }
        guard end == bytes.count else { throw .trailingBytes(offset: end) }
        var size: (width: Int, height: Int)?
        var hasData = false
        var offset = 12
        while offset < end {
            guard offset + 8 <= end else { throw .truncated }
            let length = bytes.littleEndian32(offset + 4)
            let next = offset + 8 + length + length % 2
            guard next <= end else { throw .truncated }
            let type = String(decoding: bytes[offset..<offset + 4], as: UTF8.self)
            if size == nil { size = try dimensions(type, bytes, offset + 8, length) }
            hasData = hasData || type == "VP8 " || type == "VP8L" || type == "ANMF"
            offset = next
        }
        guard let size, hasData else { throw .truncated }
        return size
    }

    private static func dimensions(
        _ type: String,
        _ bytes: [UInt8],
        _ data: Int,
        _ length: Int
    ) throws(ImageError) -> (width: Int, height: Int) {
        switch type {
        case "VP8X" where length >= 10:
            return (bytes.littleEndian24(data + 4) + 1, bytes.littleEndian24(data + 7) + 1)
        case "VP8L" where length >= 5 && bytes[data] == 0x2F:
            let bits = bytes.littleEndian32(data + 1)
            return ((bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1)
        case "VP8 " where length >= 10 && bytes[data + 3..<data + 6].elementsEqual([0x9D, 0x01, 0x2A]):
            return (bytes.littleEndian16(data + 6) & 0x3FFF, bytes.littleEndian16(data + 8) & 0x3FFF)
        default:
            throw .damaged(offset: data)
        }
    }
}

/// Callers have checked that the bytes exist.
extension [UInt8] {
    fileprivate func bigEndian16(_ offset: Int) -> Int { Int(self[offset]) << 8 | Int(self[offset + 1]) }
    fileprivate func bigEndian32(_ offset: Int) -> Int { bigEndian16(offset) << 16 | bigEndian16(offset + 2) }
    fileprivate func littleEndian16(_ offset: Int) -> Int { Int(self[offset]) | Int(self[offset + 1]) << 8 }
    fileprivate func littleEndian24(_ offset: Int) -> Int { littleEndian16(offset) | Int(self[offset + 2]) << 16 }
    fileprivate func littleEndian32(_ offset: Int) -> Int { littleEndian16(offset) | littleEndian16(offset + 2) << 16 }
}
