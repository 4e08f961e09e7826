import Basics
import HTTPModel
import Server

/// A file of the gateway as an answer: with the type that its bytes show, never as a page, and under a name that is safe to store.
enum FileAnswer {
    /// In bytes, without the ending.
    private static let longestName = 96
    /// A size in bytes that few recordings and pictures exceed.
    static let likely = 1 << 20

    /// - Parameters:
    ///   - type: nil for a file of an unknown type, which a browser stores and does not show.
    ///   - name: the name to store it under, as somebody wrote it; the ending follows from the type.
    ///   - isShown: a browser may show a file of a known type.
    static func response(_ bytes: [UInt8], as type: MediaType?, name: String, isShown: Bool = true) -> Response {
        let shown = type.map { $0.isSameEssence(as: .plain) ? "text/plain; charset=utf-8" : $0.essence }
        var response = Response(.ok, contentType: shown ?? MediaType.octetStream.essence, body: bytes)
        response.mayCompress = false
        let way = isShown && type != nil ? "inline" : "attachment"
        let safe = safe(name) + ending(of: type)
        // RFC 6266 §4.3: the plain form is for old clients, the other one has the same name.
        response.head.fields.append(.contentDisposition, "\(way); filename=\"\(safe)\"")
        response.head.fields.append(.contentSecurityPolicy, "default-src 'none'; sandbox")
        response.head.fields.append(.cacheControl, "private, no-cache")
        return response
    }

    /// Letters, digits, `_` and `-` of ASCII and single dots inside; all else becomes `_`, so that no path, drive, field or device is named.
    private static func safe(_ name: String) -> String {
        var safe = ""
        for scalar in name.unicodeScalars where safe.utf8.count < longestName {
            let isPlain = scalar.isASCII && (scalar.properties.isAlphabetic || ("0"..."9").contains(scalar))
            let isInner = scalar == "-" || (scalar == "." && safe.last != "." && !safe.isEmpty)
            if isPlain || isInner { safe.unicodeScalars.append(scalar) } else if safe.last != "_" { safe += "_" }
        }
        let trimmed = safe.drop { $0 == "_" || $0 == "." || $0 == "-" }
        var end = trimmed[...]
        while let last = end.last, last == "_" || last == "." { end.removeLast() }
        return end.isEmpty ? "file" : String(end)
    }

    private static func ending(of type: MediaType?) -> String {
        guard let type else { return ".bin" }
        return switch type.essence {
        case "image/jpeg": ".jpg"
        case "audio/mpeg": ".mp3"
        case "audio/mp4": ".m4a"
        case "text/plain": ".txt"
        default: ".\(type.essence.drop { $0 != "/" }.dropFirst())"
        }
    }
}
