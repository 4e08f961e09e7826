/// The web origins whose pages may call the API: exact, and none by default.
package struct OriginList: Sendable, Equatable {
    private let origins: [String]

    package struct InvalidOrigin: Error, Equatable, Sendable {
        package let text: String
        package let hint: String
    }

    package init() { origins = [] }

    /// Each is `scheme://host[:port]` as a browser writes it: lower case, no path, no default port. `*` and `null`
    /// would admit anyone and are refused.
    package init(_ texts: [String]) throws(InvalidOrigin) {
        var list: [String] = []
        for text in texts {
            guard let fault = Self.fault(of: text) else {
                list.append(text)
                continue
            }
            throw InvalidOrigin(text: text, hint: fault)
        }
        origins = list
    }

    package var isEmpty: Bool { origins.isEmpty }

    package func contains(_ origin: String) -> Bool { origins.contains(origin) }

    private static func fault(of text: String) -> String? {
        if text == "*" || text == "null" { return "name each origin; \(text) would admit any page" }
        guard let separator = text.utf8.firstIndex(of: UInt8(ascii: ":")), text[separator...].hasPrefix("://") else {
            return "an origin is scheme://host[:port]"
        }
        let scheme = text[..<separator]
        let host = text[separator...].dropFirst(3)
        guard !scheme.isEmpty, !host.isEmpty, text.utf8.count <= 255 else { return "an origin is scheme://host[:port]" }
        let allowed = text.utf8.allSatisfy { byte in
            byte > 0x20 && byte < 0x7F && !(0x41...0x5A).contains(byte)
        }
        guard allowed else { return "write it as the browser does: lower case, without blanks" }
        guard !host.contains(where: { "/?#@*\\".contains($0) }) else { return "an origin ends after host and port" }
        if (scheme == "http" && host.hasSuffix(":80")) || (scheme == "https" && host.hasSuffix(":443")) {
            return "browsers leave the default port out"
        }
        return nil
    }
}
