import HTTP2
import Testing

struct HTTP2PrefaceTests {
    @Test func `the preface is known at its last byte, at every cut`() {
        let bytes = HTTP2Preface.bytes
        #expect(bytes.count == 24)
        for cut in 0...bytes.count {
            var preface = HTTP2Preface()
            #expect(preface.receive(bytes[..<cut]) == (cut == 24 ? .http2 : .needsMore))
            #expect(preface.receive(bytes[cut...]) == .http2)
            #expect(preface.receive([0, 1, 2]) == .http2)
        }
    }

    @Test(arguments: ["GET / HTTP/1.1", "POST / HTTP/1.1", "PUT /", "PRI * HTTP/1.1", "\u{16}\u{3}\u{1}"])
    func `anything else is known at the first byte that differs`(text: String) {
        var preface = HTTP2Preface()
        var verdicts: [HTTP2Preface.Verdict] = []
        for (byte, expected) in zip(text.utf8, HTTP2Preface.bytes) {
            verdicts.append(preface.receive([byte]))
            guard byte == expected else { break }
        }
        #expect(verdicts.last == .other)
        #expect(verdicts.dropLast().allSatisfy { $0 == .needsMore })
    }
}
