import Service

/// An event with its encoded bytes, made once per format when the first reader needs them.
final class EncodedEvent {
    let event: StreamEvent
    private var forms: [StreamFormat: [UInt8]] = [:]

    init(_ event: StreamEvent) {
        self.event = event
    }

    func bytes(in format: StreamFormat) -> [UInt8] {
        if let known = forms[format] { return known }
        let made = format.encode(event)
        forms[format] = made
        return made
    }
}
