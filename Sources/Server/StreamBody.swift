import Compression
import EventLoops
import HTTP1
import HTTPModel

/// Encodes the body of one streamed HTTP/1 answer: compresses each piece, and frames it as a chunk.
struct StreamBody {
    /// False for an HTTP/1.0 peer: there the end of the connection ends the body.
    let isChunked: Bool
    private let coder: GzipStream?

    init(of exchange: Exchange, _ head: ResponseHead) {
        let hasBody = exchange.method != .head
        isChunked = if case .http10 = exchange.version { false } else { hasBody }
        coder = hasBody ? ContentCoding.coder(for: head) : nil
    }

    /// The form in which bytes may go to the socket without this type; nil if each connection compresses its own.
    var sharedForm: SharedBytesTarget.Form? { coder == nil ? (isChunked ? .chunk : .plain) : nil }

    /// The room that an encoded piece needs at most, if it must be sent because later pieces refer to it.
    func roomNeeded(for count: Int) -> Int? { coder.map { $0.most(for: count) + HTTP1Encoder.chunkFrameBytes } }

    func append(_ bytes: Span<UInt8>, to out: inout [UInt8]) {
        guard let coder else { return frame(bytes, to: &out) }
        var coded: [UInt8] = []
        coder.compress(bytes, into: &coded)
        frame(coded.span, to: &out)
    }

    func appendEnd(to out: inout [UInt8]) {
        if let coder {
            var rest: [UInt8] = []
            coder.finish(into: &rest)
            frame(rest.span, to: &out)
        }
        if isChunked { out += HTTP1Encoder.lastChunk }
    }

    private func frame(_ bytes: Span<UInt8>, to out: inout [UInt8]) {
        if isChunked { HTTP1Encoder.appendChunk(bytes, to: &out) } else { out.append(copying: bytes, from: 0) }
    }
}
