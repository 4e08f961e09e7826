import Compression
import Exchanges
import HTTPModel

/// gzip for larger answers of ours, where the client asks for it. Secrets beside text that callers choose stay plain
/// (`Response.mayCompress`): their length would tell about the secret.
enum ContentCoding {
    static func concerns(_ response: borrowing Response, from size: Int) -> Bool {
        response.mayCompress && response.body.count >= size && !response.head.fields.contains(.contentEncoding)
    }

    static func apply(to response: inout Response, accepted request: RequestHead) {
        response.head.fields.append(.vary, "Accept-Encoding")
        guard accepts(request), let packed = try? Gzip.compress(response.body), packed.count < response.body.count
        else {
            return
        }
        response.body = packed
        response.head.fields.append(.contentEncoding, "gzip")
    }

    /// RFC 9110 §12.5.3: `gzip` or `*` with a weight above zero.
    static func accepts(_ request: RequestHead) -> Bool {
        guard let list = request.fields.list(for: .acceptEncoding) else { return false }
        for item in list.split(separator: UInt8(ascii: ",")) {
            let parts = item.split(separator: UInt8(ascii: ";"))
            guard let first = parts.first else { continue }
            let name = String(decoding: first, as: UTF8.self).lowercased().filter { $0 != " " && $0 != "\t" }
            guard name == "gzip" || name == "x-gzip" || name == "*" else { continue }
            let weight = parts.dropFirst().map { String(decoding: $0, as: UTF8.self).lowercased().filter { $0 != " " } }
            return !weight.contains { $0.hasPrefix("q=0") && $0.dropFirst(3).allSatisfy { $0 == "0" || $0 == "." } }
        }
        return false
    }
}
