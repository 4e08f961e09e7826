import HTTP2
import HTTPModel
import Testing

/// State kept from one head to the next affects only the time, never the result.
struct RepetitionTests {
    private static let plain = Frame.requestFields + [("user-agent", "a poller/1.0"), ("accept", "text/plain")]

    private static func plain(_ change: (inout [(String, String)]) -> Void) -> [(String, String)] {
        var fields = plain
        change(&fields)
        return fields
    }

    private static let heads: [[(String, String)]] = [
        plain,
        Frame.requestFields,
        plain { $0[0].1 = "HEAD" },
        plain { $0[0].1 = "POST" },
        plain { $0[1].1 = "http" },
        plain { $0[1].1 = "ftp" },
        plain { $0[2].1 = "/longer?query=1" },
        plain { $0[2].1 = "no path" },
        plain { $0[3].1 = "ladle.tess" },
        plain { $0.remove(at: 3) },
        plain { $0[3] = ("host", "ladle.test") },
        plain { $0.swapAt(2, 3) },
        plain { $0.swapAt(4, 5) },
        plain { $0.removeLast() },
        plain { $0[5].1 = "text/html!" },
        plain { $0[4].0 = "user-agenu" },
        plain { $0.append(("accept", "text/plain")) },
        plain { $0.append(("x-large", String(repeating: "x", count: 16_200))) },
        plain { $0.append(("authorization", "Bearer secret")) },
        plain { $0.append(("authorization", "Bearer others")) },
        plain { $0.append(("host", "ladle.test")) },
        plain { $0.append(("host", "other.test")) },
    ]

    /// The result for the last of these heads: its lines, a refusal or a reset.
    private func told(_ heads: [[(String, String)]]) throws -> [String] {
        let peer = try TestPeer()
        for (place, head) in heads.enumerated() {
            _ = peer.takeEvents()
            _ = peer.takeFrames()
            try peer.send(.request(UInt32(place * 2 + 1), head))
        }
        let last = Int32(heads.count * 2 - 1)
        let events = peer.takeEvents().map { $0.replacing("\(last)", with: "N") }
        return (peer.requests[last]?.lines ?? []) + events + peer.frames.map { "\($0.type) \($0.payload)" }
    }

    @Test func `a head is the same whatever came before it`() throws {
        for head in Self.heads {
            let alone = try told([head])
            for before in Self.heads {
                #expect(try told([before, head]) == alone)
                #expect(try told([before, before, Self.plain, head]) == alone)
            }
        }
    }

    @Test func `an answer is the same whatever came before it`() throws {
        let answers: [(Int, [(String, String)], Int?)] = [
            (200, [("Content-Type", "text/plain")], 5), (200, [("Content-Type", "text/plain")], 1_234_567_890),
            (200, [("Content-Type", "text/plain")], nil), (404, [("Content-Type", "text/plain")], 0),
            (200, [("Content-Type", "text/html!")], 10), (200, [], 9), (200, [("ETag", "1"), ("Date", "now")], 99),
            (200, [("Content-Type", "text/plain")], 100),
        ]
        let peer = try TestPeer()
        var stream: Int32 = -1
        for first in answers {
            for second in answers {
                for (status, fields, length) in [first, second] {
                    stream += 2
                    try peer.send(.request(UInt32(stream)))
                    var head = ResponseHead(HTTPStatus(status))
                    for (name, value) in fields { head.fields.append(name, value) }
                    peer.session.respond(stream, head, length: length, end: true)
                    try peer.flush()
                    let wanted =
                        [":status: \(status)"] + fields.map { "\($0.0.lowercased()): \($0.1)" }
                        + (length.map { ["content-length: \($0)"] } ?? [])
                    #expect(peer.heads.last == wanted)
                }
            }
        }
    }
}
