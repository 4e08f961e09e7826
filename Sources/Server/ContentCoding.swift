import Compression
import HTTPModel

/// Compresses our larger answers with gzip if the client accepts it. An answer with a secret beside text that callers
/// choose stays uncompressed (`Response.mayCompress`), because its compressed length would leak the secret.
enum ContentCoding {
    /// Whether the answer varies with the client's codings; a 304 varies if the whole answer would (RFC 9110 §15.4.5).
    static func concerns(_ response: borrowing Response, from size: Int) -> Bool {
        response.mayCompress && (response.bytesOfWhole ?? response.body.count) >= size
            && !response.head.fields.contains(.contentEncoding)
    }

    static func apply(to response: inout Response, accepted request: RequestHead) {
        response.head.fields.append(.vary, "Accept-Encoding")
        guard !response.body.isEmpty, request.fields.acceptsGzip, let packed = try? Gzip.compress(response.body),
            packed.count < response.body.count
        else {
            return
        }
        response.body = packed
        response.head.fields.append(.contentEncoding, "gzip")
    }

    /// The coder for a stream whose head announces a content coding. The client can decode each piece on arrival.
    static func coder(for head: ResponseHead) -> GzipStream? {
        head.fields.contains(.contentEncoding) ? try? GzipStream() : nil
    }
}
