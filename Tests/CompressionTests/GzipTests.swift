import TestSupport
import Testing

@testable import Compression

struct GzipTests {
    @Test(arguments: [0, 1, 100, 4095, 4096, 4097, 300_000])
    func `compressed bytes expand to what they were`(count: Int) throws {
        let text = sample(count)
        let small = try Gzip.compress(text)
        #expect(small.prefix(3) == [0x1f, 0x8b, 8])
        #expect(try GunzipStream.expand(small) == text)
        if count > 4000 { #expect(small.count < count / 2) }
    }

    @Test func `noise survives too`() throws {
        var state: UInt64 = 1
        let noise = (0..<50_000).map { _ in
            state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            return UInt8(state >> 56)
        }
        #expect(try GunzipStream.expand(try Gzip.compress(noise)) == noise)
    }
}

struct GzipStreamTests {
    @Test func `each event can be read when its bytes have arrived`() throws {
        let stream = try GzipStream()
        let reader = GunzipStream()
        for index in 0..<500 {
            let event = Array("id: e.\(index)\ndata: {\"text\":\"word \(index % 7)\",\"run\":\"abc\"}\n\n".utf8)
            var coded: [UInt8] = []
            stream.compress(event, into: &coded)
            var read: [UInt8] = []
            try reader.expand(coded, into: &read)
            #expect(read == event)
        }
        var end: [UInt8] = []
        stream.finish(into: &end)
        var rest: [UInt8] = []
        try reader.expand(end, into: &rest)
        #expect(rest.isEmpty)
        #expect(reader.finished)
    }

    @Test func `like events shrink to a fraction`() throws {
        let stream = try GzipStream()
        var coded: [UInt8] = []
        var plain = 0
        for index in 0..<200 {
            let event = sample(200) + Array("\(index)\n\n".utf8)
            plain += event.count
            stream.compress(event, into: &coded)
        }
        #expect(coded.count < plain / 5)
    }

    @Test func `an event larger than every buffer passes`() throws {
        let stream = try GzipStream()
        let event = sample(200_000)
        var coded: [UInt8] = []
        stream.compress(event, into: &coded)
        let reader = GunzipStream()
        var read: [UInt8] = []
        for byte in coded { try reader.expand([byte], into: &read) }
        #expect(read == event)
    }

    @Test func `nothing comes of an empty event or after the end`() throws {
        let stream = try GzipStream()
        var coded: [UInt8] = []
        stream.compress([], into: &coded)
        #expect(coded.isEmpty)
        stream.finish(into: &coded)
        #expect(try GunzipStream.expand(coded).isEmpty)
        let size = coded.count
        stream.compress(sample(10), into: &coded)
        stream.finish(into: &coded)
        #expect(coded.count == size)
    }
}

private func sample(_ count: Int) -> [UInt8] {
    let line = Array("{\"kind\":\"assistant\",\"text\":\"The quick brown fox\",\"n\":".utf8)
    return (0..<count).map { $0 % 97 == 0 ? UInt8(48 + ($0 / 97) % 10) : line[$0 % line.count] }
}
