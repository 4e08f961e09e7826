/// A media type as in `Content-Type` (RFC 9110 §8.3.1): type and subtype in lower case, parameters in order.
package struct MediaType: Sendable, Equatable {
    package struct Parameter: Sendable, Equatable {
        /// The name in lower case.
        package var name: String
        package var value: String

        package init(name: String, value: String) {
            self.name = name
            self.value = value
        }
    }

    package var type: String
    var subtype: String
    package var parameters: [Parameter]

    package init(_ type: String, _ subtype: String, parameters: [Parameter] = []) {
        self.type = type
        self.subtype = subtype
        self.parameters = parameters
    }

    package init(parsing value: ArraySlice<UInt8>) throws(HeaderValueError) {
        try self.init(parsing: value, field: .contentType)
    }

    init(parsing value: ArraySlice<UInt8>, field: FieldName) throws(HeaderValueError) {
        var scanner = ValueScanner(value.trimmingBlanks)
        guard !scanner.isAtEnd else { throw HeaderValueError(field, .empty) }
        guard let type = scanner.token(), scanner.take(0x2F), let subtype = scanner.token() else {
            throw HeaderValueError(field)
        }
        self.type = Self.lowercase(type)
        self.subtype = Self.lowercase(subtype)
        parameters = []
        while true {
            scanner.skipBlanks()
            if scanner.isAtEnd { return }
            guard scanner.take(0x3B) else { throw HeaderValueError(field) }
            scanner.skipBlanks()
            // The grammar allows an empty parameter: `text/plain;`.
            if scanner.isAtEnd || scanner.peek == 0x3B { continue }
            guard let name = scanner.token(), scanner.take(0x3D), let text = scanner.tokenOrQuotedString() else {
                throw HeaderValueError(field)
            }
            parameters.append(Parameter(name: Self.lowercase(name), value: String(decoding: text, as: UTF8.self)))
        }
    }

    /// `type/subtype`.
    package var essence: String { "\(type)/\(subtype)" }

    package func parameter(_ name: String) -> String? {
        for parameter in parameters where parameter.name == name { return parameter.value }
        return nil
    }

    package func isSameEssence(as other: MediaType) -> Bool { type == other.type && subtype == other.subtype }

    /// `application/json` and every `+json` type.
    package var isJSON: Bool { type == "application" && (subtype == "json" || subtype.hasSuffix("+json")) }

    static func lowercase(_ bytes: some Sequence<UInt8>) -> String {
        String(decoding: bytes.map(ASCII.lowercased), as: UTF8.self)
    }

    package static let json = MediaType("application", "json")
    package static let mergePatchJSON = MediaType("application", "merge-patch+json")
    package static let problemJSON = MediaType("application", "problem+json")
    package static let yaml = MediaType("application", "yaml")
    package static let ndjson = MediaType("application", "x-ndjson")
    package static let form = MediaType("application", "x-www-form-urlencoded")
    package static let eventStream = MediaType("text", "event-stream")
    package static let plain = MediaType("text", "plain")
    package static let markdown = MediaType("text", "markdown")
    package static let png = MediaType("image", "png")
    package static let jpeg = MediaType("image", "jpeg")
    package static let webp = MediaType("image", "webp")
    package static let mp4 = MediaType("video", "mp4")
    package static let webm = MediaType("video", "webm")
    package static let gif = MediaType("image", "gif")
    package static let pdf = MediaType("application", "pdf")
    package static let mp3 = MediaType("audio", "mpeg")
    package static let aac = MediaType("audio", "aac")
    package static let ogg = MediaType("audio", "ogg")
    package static let wav = MediaType("audio", "wav")
    package static let flac = MediaType("audio", "flac")
    package static let audioMP4 = MediaType("audio", "mp4")
    package static let audioWebM = MediaType("audio", "webm")
    package static let octetStream = MediaType("application", "octet-stream")
}
