import Basics

/// The idempotency key of a command: the first that the message has of correlation data, user property and `id`. Each
/// kind has a prefix of its own, so an id is never taken for correlation data.
enum CommandKey {
    static func of(_ message: BrokerMessage, id: String?) throws(BrokerRefusal) -> BrokerCommand.Key {
        if let data = message.correlation, !data.isEmpty, data.count <= BrokerLimits.correlationKeyBytes {
            return .given("correlation:" + Hex.encode(data))
        }
        if let key = message.property("idempotency-key") {
            guard !key.isEmpty, key.utf8.count <= BrokerLimits.keyBytes else {
                throw .field(
                    "idempotency-key",
                    "The user property `idempotency-key` has 1 to \(BrokerLimits.keyBytes) bytes."
                )
            }
            return .given(text(key, kind: "property"))
        }
        if let id { return .given(text(id, kind: "id")) }
        return message.isDuplicate ? .digestOfDuplicate : .none
    }

    /// A key that stands in a header field without quotes. Other texts are written in hexadecimal.
    private static func text(_ key: String, kind: String) -> String {
        let isPlain = key.utf8.allSatisfy { byte in
            (0x21...0x7E).contains(byte) && byte != UInt8(ascii: "\"") && byte != UInt8(ascii: ",")
                && byte != UInt8(ascii: ";")
        }
        return isPlain ? "\(kind):\(key)" : "\(kind)-hex:\(Hex.encode(key.utf8))"
    }
}
