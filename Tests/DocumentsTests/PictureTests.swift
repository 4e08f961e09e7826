import Basics
import Testing

@testable import Documents

struct PictureTests {
    /// 3 x 2 pixels, grey.
    static let png =
        Base64.decode(
            "iVBORw0KGgoAAAANSUhEUgAAAAMAAAACCAAAAAC4HznGAAAAEElEQVR4nGNITEpmSElNAwAJRgJWauDRSAAAAABJRU5ErkJggg=="
        ) ?? []
    /// 5 x 4: a frame header, one scan with a stuffed byte and a restart marker.
    static let jpeg: [UInt8] =
        [0xFF, 0xD8, 0xFF, 0xE0, 0, 4, 0x4A, 0x46, 0xFF, 0xFF, 0xC2, 0, 11, 8, 0, 4, 0, 5, 1, 1, 0x11, 0]
        + [0xFF, 0xDA, 0, 8, 1, 1, 0, 0, 63, 0, 0x12, 0xFF, 0x00, 0x34, 0xFF, 0xD0, 0x56, 0xFF, 0xD9]

    static func riff(_ chunks: [(String, [UInt8])]) -> [UInt8] {
        var body = Array("WEBP".utf8)
        for (name, data) in chunks {
            body += Array(name.utf8)
            body += little(data.count)
            body += data
            if data.count % 2 == 1 { body.append(0) }
        }
        return Array("RIFF".utf8) + little(body.count) + body
    }
    static func little(_ value: Int) -> [UInt8] { (0..<4).map { UInt8(value >> ($0 * 8) & 0xFF) } }

    static let lossless = riff([("VP8L", [0x2F] + little(6 | 8 << 14) + [1, 2])])
    static let lossy = riff([("VP8 ", [0, 0, 0, 0x9D, 0x01, 0x2A, 7, 0, 9, 0, 1])])
    static let extended = riff([
        ("VP8X", [0, 0, 0, 0, 9, 0, 0, 10, 0, 0]), ("EXIF", [1]), ("VP8L", [0x2F, 0, 0, 0, 0]),
    ])

    @Test(arguments: [
        (png, ImageHeader.Format.png, 3, 2), (jpeg, .jpeg, 5, 4), (lossless, .webp, 7, 9), (lossy, .webp, 7, 9),
        (extended, .webp, 10, 11),
    ])
    func `a whole picture is known by its content`(bytes: [UInt8], format: ImageHeader.Format, width: Int, height: Int)
        throws
    {
        let image = try ImageHeader(checking: bytes)
        #expect(image.format == format)
        #expect(image.width == width)
        #expect(image.height == height)
    }

    @Test(arguments: [png, jpeg, lossless, lossy, extended])
    func `a cut picture is refused, and so are bytes after its end`(bytes: [UInt8]) {
        for end in 0..<bytes.count {
            #expect(throws: ImageError.self) { try ImageHeader(checking: Array(bytes[..<end])) }
        }
        #expect(throws: ImageError.trailingBytes(offset: bytes.count)) {
            try ImageHeader(checking: bytes + Array("<script>".utf8))
        }
    }

    @Test(arguments: [png, jpeg, lossless, lossy, extended])
    func `single changed bytes never trap`(bytes: [UInt8]) {
        for offset in bytes.indices {
            for value: UInt8 in [0x00, 0x01, 0x7F, 0x80, 0xFF] {
                var changed = bytes
                changed[offset] = value
                _ = try? ImageHeader(checking: changed)
            }
        }
    }

    @Test func `a wrong checksum, a huge side and other formats are refused`() {
        var damaged = Self.png
        damaged[20] ^= 1
        #expect(throws: ImageError.damaged(offset: 8)) { try ImageHeader(checking: damaged) }
        let huge = Self.riff([("VP8X", [0, 0, 0, 0, 0xFF, 0xFF, 0, 1, 0, 0]), ("VP8L", [0x2F, 0, 0, 0, 0])])
        #expect(throws: ImageError.dimensions(width: 65_536, height: 2, limit: 8192)) {
            try ImageHeader(checking: huge)
        }
        for text in ["", "GIF89a", "<svg/>", "RIFF", "\u{89}PNG"] {
            #expect(throws: ImageError.unknownFormat) { try ImageHeader(checking: Array(text.utf8)) }
        }
        #expect(throws: ImageError.tooLarge(bytes: (2 << 20) + 1, limit: 2 << 20)) {
            try ImageHeader(checking: Self.png + [UInt8](repeating: 0, count: (2 << 20) + 1 - Self.png.count))
        }
    }

    @Test func `an avatar is a picture, a URL, a path or a text`() throws {
        let data = "data:image/png;base64," + Base64.encode(Self.png)
        #expect(AvatarReference(data) == .embedded(try ImageHeader(checking: Self.png), bytes: Self.png))
        #expect(
            AvatarReference(String(data.map { $0 == "+" ? "%" : $0 }).split(separator: "%").joined(separator: "%2B"))
                == AvatarReference(data)
        )
        #expect(AvatarReference("HTTPS://x.example/a.png") == .url("HTTPS://x.example/a.png"))
        #expect(AvatarReference("avatars/a.png") == .path("avatars/a.png"))
        #expect(AvatarReference("🦊") == .text("🦊"))
    }

    private static let refused: [String] = [
        "data:image/jpeg;base64," + Base64.encode(png), "data:image/png," + Base64.encode(png), "data:,", "data:x",
        "data:image/png;base64,####", "data:text/html;base64," + Base64.encode(Array("<b>".utf8)), "../x.png",
        "/etc/a.png",
        "~/a.png", "a\\b.png", "a/../../b.png", "file:///etc/passwd", "http://x/ y", "",
        "data:image/png;base64," + String(repeating: "A", count: 3 << 20),
    ]

    @Test(arguments: refused)
    func `a refused avatar has a reason`(value: String) {
        guard case .invalid(let reason) = AvatarReference(value) else {
            Issue.record("accepted \(value.prefix(40))")
            return
        }
        #expect(!reason.isEmpty)
    }
}
