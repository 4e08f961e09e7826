import HTTP2
import Testing

struct ConformanceTests {
    @Test(arguments: ConformanceCase.all)
    func `the answer is RFC 9113's, whole and byte by byte`(item: ConformanceCase) throws {
        for size in [Int.max, 1] {
            let peer = try TestPeer()
            _ = peer.takeFrames()
            try peer.send(bytes: item.input, size: size)
            switch item.expected {
            case .connection(let code):
                #expect(peer.goAway == code, "\(peer.frames)")
                #expect(peer.session.isFinished)
                #expect(peer.events.contains("failed \(code) -"))
            case .stream(let stream, let code):
                #expect(peer.reset(of: stream) == code, "\(peer.frames)")
                #expect(peer.goAway == nil)
                try expectServed(peer)
            case .served:
                #expect(peer.goAway == nil, "\(peer.frames)")
                #expect(!peer.frames.contains { $0.kind == .reset })
                try expectServed(peer)
            }
        }
    }

    /// A malformed request must not be reported, and the next one must be.
    private func expectServed(_ peer: TestPeer) throws {
        _ = peer.takeEvents()
        try peer.send(.request(1001))
        #expect(peer.takeEvents().contains { peer.isRequest($0) })
        peer.respond(1001, 200, end: true)
        try peer.flush()
        #expect(peer.heads.last == [":status: 200"])
    }

    @Test(arguments: ConformanceCase.messages)
    func `the application never hears of a malformed head`(item: ConformanceCase) throws {
        guard case .stream = item.expected, item.section != "8.1", !item.name.contains("body than"),
            !item.name.contains("several DATA")
        else { return }
        let peer = try TestPeer()
        try peer.send(bytes: item.input)
        #expect(peer.takeEvents().isEmpty)
    }
}
