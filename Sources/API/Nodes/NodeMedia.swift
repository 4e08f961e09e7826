import Basics
import Documents
import HTTPModel
import JSONBytes
import Service

/// A picture or clip from a node, with the type that its bytes show.
struct NodeMedia {
    struct Fault: Error {
        let detail: String
    }

    /// The size of the gateway's largest frame.
    private static let mostBytes = 25 << 20

    let type: MediaType
    let bytes: [UInt8]

    init(_ result: NodeAnswer.Result, of command: String) throws(Fault) {
        guard case .value(let value) = result, let text = value["base64"]?.string else {
            throw Fault(detail: "there are no bytes in it")
        }
        guard let bytes = Base64.decode(text, as: .standard), !bytes.isEmpty else {
            throw Fault(detail: "its bytes are no base64")
        }
        self.bytes = bytes
        type = try Self.family(of: command) == "video" ? Self.clip(bytes) : Self.picture(bytes)
    }

    /// `image` or `video`; nil if the command returns neither.
    static func family(of command: String) -> String? {
        switch command {
        case "camera.snap", "canvas.snapshot": "image"
        case "camera.clip", "screen.record": "video"
        default: nil
        }
    }

    private static func picture(_ bytes: [UInt8]) throws(Fault) -> MediaType {
        do throws(ImageError) {
            switch try ImageHeader(checking: bytes, limit: mostBytes).mimeType {
            case "image/png": return .png
            case "image/webp": return .webp
            default: return .jpeg
            }
        } catch {
            throw Fault(detail: error.message)
        }
    }

    /// The first box of an ISO file (ISO/IEC 14496-12 §4.3), or the EBML header of a WebM one (RFC 8794 §11.2.1).
    private static func clip(_ bytes: [UInt8]) throws(Fault) -> MediaType {
        if bytes.count >= 16, bytes[4..<8].elementsEqual("ftyp".utf8) {
            let size = bytes[..<4].reduce(0) { $0 << 8 | Int($1) }
            if (16...bytes.count).contains(size) { return .mp4 }
        }
        if bytes.count >= 16, bytes.starts(with: [0x1A, 0x45, 0xDF, 0xA3]) { return .webm }
        throw Fault(detail: "the content is neither MP4 nor WebM")
    }
}
