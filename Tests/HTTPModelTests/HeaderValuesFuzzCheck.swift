import HTTPModel

/// Properties that hold for any bytes as a header value or target. Shared by the fuzz driver and the replay test.
enum HeaderValuesCheck {
    static func problem(with bytes: [UInt8]) -> String? {
        let value = bytes[...]
        if let media = try? MediaType(parsing: value) {
            let again = try? MediaType(parsing: Array(media.essence.utf8)[...])
            if again?.essence != media.essence { return "a media type is not stable" }
        }
        if let accept = try? AcceptList(parsing: value) {
            if let choice = accept.choose(among: [.json, .plain, .eventStream]), choice > 2 { return "no such offer" }
            if accept.ranges.isEmpty || accept.ranges.contains(where: { !(0...1000).contains($0.weight) }) {
                return "a weight out of range"
            }
        }
        if let preferences = try? Preferences(parsing: value), let wait = preferences.wait,
            !(0...Preferences.maxWait).contains(wait)
        {
            return "a wait out of range"
        }
        if case .tags(let tags)? = try? EntityTagCondition(parsing: value, field: .ifMatch) {
            let text = tags.map(\.text).joined(separator: ", ")
            // Bytes that are not UTF-8 come out repaired, so only texts are compared.
            if String(validating: bytes, as: UTF8.self) != nil {
                let again = try? EntityTagCondition(parsing: Array(text.utf8)[...], field: .ifMatch)
                if again != .tags(tags) { return "entity tags are not stable" }
            }
        }
        if let key = try? IdempotencyKey(parsing: value) {
            let quoted = "\"" + key.value.flatMap { "\"\\".contains($0) ? "\\\($0)" : "\($0)" } + "\""
            if (try? IdempotencyKey(parsing: Array(quoted.utf8)[...])) != key { return "a key is not stable" }
        }
        _ = HostPort.isValid(bytes.span)
        return target(bytes) ?? fields(bytes)
    }

    private static func target(_ bytes: [UInt8]) -> String? {
        if let head = try? RequestHead(method: .get, target: bytes.span, version: .http11) {
            if !bytes.allSatisfy(RequestTarget.allows) { return "a forbidden byte in a target" }
            if let query = try? head.queryItems(), query.items.count > QueryItems.maxItems { return "too many items" }
        }
        _ = try? QueryItems(parsing: bytes[...])
        return nil
    }

    private static func fields(_ bytes: [UInt8]) -> String? {
        var fields = HeaderFields()
        fields.append(.location, bytes)
        fields.append(String(decoding: bytes.prefix(40), as: UTF8.self), "x")
        let lines = fields.bytes.count { $0 == 0x0A }
        if lines != fields.count || fields.bytes.count(where: { $0 == 0x0D }) != lines {
            return "a value broke the head"
        }
        _ = fields.has(.location, token: "x")
        let half = bytes.count / 2
        let added = fields.appendReceived(
            name: bytes.span.extracting(0..<half),
            value: bytes.span.extracting(half..<bytes.count)
        )
        if added, bytes.contains(where: { $0 == 0 || $0 == 0x0A || $0 == 0x0D }) { return "a bad field was taken" }
        return nil
    }
}
