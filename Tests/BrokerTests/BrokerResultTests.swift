import JSONBytes
import Testing

@testable import Broker

struct BrokerResultTests {
    private let address = ResultAddress(topic: "t", correlation: nil, id: "a")

    private func text(_ bytes: [UInt8]) -> String { String(decoding: bytes, as: UTF8.self) }

    @Test func `an accepted message tells its entry, an ended one its reply`() {
        #expect(
            text(BrokerResult.answered(Array(#"{"id":"e1","state":"queued"}"#.utf8), status: 202, verb: .send, address))
                == #"{"id":"a","verb":"send","status":202,"entry":{"id":"e1","state":"queued"},"truncated":false}"#
        )
        let ended = Array(#"{"entry":{"id":"e1"},"run":{"id":"r1"},"reply":"Hi"}"#.utf8)
        #expect(
            text(BrokerResult.answered(ended, status: 200, verb: .send, address))
                == #"{"id":"a","verb":"send","status":200,"reply":"Hi","run":{"id":"r1"},"truncated":false}"#
        )
        #expect(
            text(BrokerResult.answered(Array(#"{"aborted":true}"#.utf8), status: 200, verb: .abort, address))
                == #"{"id":"a","verb":"abort","status":200,"answer":{"aborted":true},"truncated":false}"#
        )
    }

    @Test func `a refusal and a problem of the API have one form`() {
        let refusal = BrokerRefusal(.invalidField, "No.", field: "run")
        #expect(
            text(BrokerResult.refused(refusal, verb: .abort, address))
                == #"{"id":"a","verb":"abort","status":422,"code":"INVALID_FIELD","detail":"No.","hint":null,"field":"run","retryable":false}"#
        )
        let problem = Array(
            #"{"type":"x","status":409,"code":"STOP_WORD","detail":"D","hint":"H","retryable":true}"#.utf8
        )
        #expect(
            text(BrokerResult.answered(problem, status: 409, verb: .send, address))
                == #"{"id":"a","verb":"send","status":409,"code":"STOP_WORD","detail":"D","hint":"H","field":null,"retryable":true}"#
        )
    }

    @Test func `a long answer is cut and says so`() throws {
        let long = String(repeating: "é\\n", count: 100_000)
        let body = Array(#"{"reply":"\#(long)","run":{"id":"r1","text":"\#(long)"}}"#.utf8)
        for limit in [BrokerLimits.resultBytes, 20_000] {
            let bytes = BrokerResult.answered(body, status: 200, verb: .send, address, limit: limit)
            #expect(bytes.count <= limit)
            let root = try JSONDocument(parsing: bytes).root
            #expect(root["truncated"]?.bool == true && (root["reply"]?.utf8?.count ?? 0) > limit / 4)
        }
        let broken = BrokerResult.answered(Array("{".utf8), status: 202, verb: .send, address)
        #expect(text(broken) == #"{"id":"a","verb":"send","status":202,"entry":null,"truncated":false}"#)
    }
}
