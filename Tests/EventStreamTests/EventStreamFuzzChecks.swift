import EventStream

/// Properties that hold for any bytes. Shared by the fuzz drivers and the replay tests.
enum SSEEncoderCheck {
    static func problem(with bytes: [UInt8]) -> String? {
        let whole = decode(bytes, step: bytes.count)
        if decode(bytes, step: 1) != whole { return "byte by byte differs" }
        if decode(bytes, step: 5) != whole { return "in fives differs" }
        // Any data, encoded, comes back as one event with the same lines.
        var encoded: [UInt8] = []
        guard SSEEncoder.append(type: "x", data: bytes, to: &encoded) else { return "too long" }
        let messages = decode(encoded, step: encoded.count).messages
        var expected: [UInt8] = []
        for (index, byte) in bytes.enumerated() {
            if byte == 0x0A, index > 0, bytes[index - 1] == 0x0D { continue }
            expected.append(byte == 0x0D ? 0x0A : byte)
        }
        // A line above the decoder's bound is its own refusal.
        if messages.count != 1 || messages[0].data != expected { return bytes.count < 1000 ? "data broke out" : nil }
        return nil
    }

    struct Outcome: Equatable {
        var messages: [SSEMessage] = []
        var retry: Int?
        var id = ""
        var refusal: SSEError?
    }

    private static func decode(_ bytes: [UInt8], step: Int) -> Outcome {
        var decoder = SSEDecoder(maxEventBytes: 1024)
        var outcome = Outcome()
        var start = 0
        do throws(SSEError) {
            while start < bytes.count {
                let piece = bytes.span.extracting(start..<min(start + max(step, 1), bytes.count))
                start += piece.count
                var offset = 0
                while let message = try decoder.next(in: piece, from: &offset) { outcome.messages.append(message) }
            }
        } catch {
            outcome.refusal = error
        }
        outcome.retry = decoder.retry
        outcome.id = decoder.lastEventID
        return outcome
    }
}

enum EventCursorCheck {
    private static let known = ["run.started", "run.delta", "run.step", "run.ended", "message", "outbox", "link"]

    static func problem(with bytes: [UInt8]) -> String? {
        if let id = try? EventID(parsing: bytes) {
            if Array(id.text.utf8) != bytes { return "an id has two spellings" }
            if (try? EventID(parsing: id.text)) != id { return "an id is not stable" }
        }
        let text = String(decoding: bytes, as: UTF8.self)
        let parts = text.split(separator: "&", omittingEmptySubsequences: false).map(String.init)
        let filter = try? EventFilter(
            types: parts[0],
            session: parts.count > 1 ? parts[1] : nil,
            run: parts.count > 2 ? parts[2] : nil,
            known: known
        )
        guard let filter else { return nil }
        return known.contains { filter.admits(type: $0) } ? nil : "a filter that fits nothing"
    }
}
