import Compression
import HTTPModel

/// gzip for larger answers of ours, where the client asks for it. Secrets beside text that callers choose stay plain
/// (`Response.mayCompress`): their length would tell about the secret.
enum ContentCoding {
    static func concerns(_ response: borrowing Response, from size: Int) -> Bool {
        response.mayCompress && response.body.count >= size && !response.head.fields.contains(.contentEncoding)
    }

    static func apply(to response: inout Response, accepted request: RequestHead) {
        response.head.fields.append(.vary, "Accept-Encoding")
        guard request.fields.acceptsGzip, let packed = try? Gzip.compress(response.body),
            packed.count < response.body.count
        else {
            return
        }
        response.body = packed
        response.head.fields.append(.contentEncoding, "gzip")
    }

    /// For a stream whose head says that it is coded; each piece can be read when it arrives.
    static func coder(for head: ResponseHead) -> GzipStream? {
        head.fields.contains(.contentEncoding) ? try? GzipStream() : nil
    }
}
