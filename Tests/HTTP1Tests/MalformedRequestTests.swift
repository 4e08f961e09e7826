import HTTP1
import HTTPModel
import TestSupport
import Testing

struct MalformedRequestTests {
    @Test(arguments: MalformedRequest.all)
    func `is refused with its status and nothing after it is read`(_ request: MalformedRequest) {
        let whole = RequestTranscript(request.bytes)
        #expect(whole.refusal.map { Int($0.status.code) } == request.status)
        #expect(whole.completeCount == request.goodBefore)
        #expect(!whole.requests.contains { $0.target.contains("smuggled") || $0.target.contains("evil") })
    }

    @Test(arguments: MalformedRequest.all)
    func `the outcome does not depend on how the bytes arrive`(_ request: MalformedRequest) {
        let whole = RequestTranscript(request.bytes)
        if request.bytes.count < 20_000 {
            let bytewise = RequestTranscript(request.bytes, cuts: Array(1..<request.bytes.count))
            #expect(bytewise.refusal == whole.refusal)
            #expect(bytewise.requests == whole.requests)
        }
        // Long inputs repeat one byte for most of their length; cuts near both ends meet every state.
        let count = request.bytes.count
        let cuts =
            count < 400
            ? Array(1..<count) : count < 20_000 ? Array(1..<100) + Array((count - 100)..<count) : [50, count - 1]
        let wrong = cuts.filter { cut in
            let parts = RequestTranscript(request.bytes, cuts: [cut], keepingCapacity: false)
            return parts.refusal != whole.refusal || parts.requests != whole.requests
        }
        #expect(wrong == [])
    }

    @Test func `every class of server bug has a case`() {
        let classes = Set(MalformedRequest.all.map(\.bugClass))
        #expect(classes.isSuperset(of: 0...48))
        #expect(MalformedRequest.all.count >= 120)
    }

    /// Good requests, then a bad one, then good ones: exactly the first group is answered.
    @Test(arguments: MalformedRequest.all.filter { $0.bytes.count < 1000 })
    func `a refusal in a feed ends the feed`(_ request: MalformedRequest) {
        let good = [UInt8](raw: "POST /x HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\nok")
        let bytes = good + good + request.bytes + good + good
        for cuts in [[], [good.count], Array(1..<bytes.count)] {
            let transcript = RequestTranscript(bytes, cuts: cuts)
            #expect(transcript.refusal != nil)
            #expect(transcript.completeCount == 2 + request.goodBefore)
            #expect(transcript.requests.filter(\.isComplete).count { $0.target == "/x" } == 2)
        }
    }

    @Test func `each refusal has a status and a sentence`() {
        for request in MalformedRequest.all {
            guard let refusal = RequestTranscript(request.bytes).refusal else { continue }
            #expect(refusal.text.hasSuffix("."))
            #expect(refusal.status.code >= 400)
        }
    }
}
