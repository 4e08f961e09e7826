import JSONBytes

/// Reads one value of a key from a text or from the file's JSON.
enum ConfigurationReader {
    /// The error for a value of the wrong form.
    struct Refusal: Error, Equatable {
        let message: String
    }

    static func value(_ text: String, of key: ConfigurationKey) throws(Refusal) -> ConfigurationValue {
        guard !text.unicodeScalars.contains(where: { $0.properties.generalCategory == .control }) else {
            throw Refusal(message: "\(key.name) holds a control character")
        }
        switch key.kind {
        case .text, .path, .secretFile, .url, .database:
            guard !text.isEmpty else { throw Refusal(message: "\(key.name) is empty") }
            if key.kind == .url { try checkURL(text, key) }
            if key.kind == .database { try checkDatabase(text, key) }
            return .text(text)
        case .bool:
            switch text.lowercased() {
            case "true", "yes", "on", "1": return .bool(true)
            case "false", "no", "off", "0": return .bool(false)
            default: throw refusal(key, text)
            }
        case .int(let range): return try number(Int64(text), range, key, text)
        case .size(let range): return try number(ConfigurationUnits.bytes(text), range, key, text)
        case .duration(let range): return try number(ConfigurationUnits.milliseconds(text), range, key, text)
        case .fraction(let range):
            guard let value = Double(text), range.contains(value) else { throw refusal(key, text) }
            return .fraction(value)
        case .choice(let words):
            guard words.contains(text) else { throw refusal(key, text) }
            return .text(text)
        case .object:
            guard (try? JSONDocument(parsing: text))?.root.kind == .object else { throw refusal(key, text) }
            return .text(text)
        case .list(let separator):
            return .list(text.split(separator: separator).map(trimmed).filter { !$0.isEmpty })
        }
    }

    static func value(_ json: JSONValue, of key: ConfigurationKey) throws(Refusal) -> ConfigurationValue {
        switch (key.kind, json.kind) {
        case (.list, .array):
            var items: [String] = []
            for element in json.elements {
                guard let text = element.string, !text.isEmpty else {
                    throw Refusal(message: "\(key.name) must be a list of texts")
                }
                items.append(text)
            }
            return .list(items)
        case (.list, .string), (.text, .string), (.url, .string), (.database, .string), (.path, .string),
            (.secretFile, .string),
            (.choice, .string), (.duration, .string), (.size, .string):
            return try value(json.string ?? "", of: key)
        case (.object, .object): return .text(String(decoding: json.raw, as: UTF8.self))
        case (.bool, .bool): return .bool(json.bool ?? false)
        case (.int, .number), (.fraction, .number), (.size, .number), (.choice, .number):
            return try value(String(decoding: json.raw, as: UTF8.self), of: key)
        default:
            throw Refusal(message: "\(key.name) must be \(article(key.kind.noun))")
        }
    }

    private static func number(
        _ value: Int64?,
        _ range: ClosedRange<Int64>,
        _ key: ConfigurationKey,
        _ text: String
    ) throws(Refusal) -> ConfigurationValue {
        guard let value, range.contains(value) else { throw refusal(key, text) }
        return .int(value)
    }

    private static func checkDatabase(_ text: String, _ key: ConfigurationKey) throws(Refusal) {
        guard let url = DatabaseURL(text) else {
            throw Refusal(message: "\(key.name) is no URL such as postgresql://ladle@db.example/ladle")
        }
        guard !url.hasPassword else {
            throw Refusal(
                message:
                    "\(key.name) must not carry a password; write it into a file and name that in database.passwordFile"
            )
        }
    }

    /// Refuses a user, password or query in a URL, since they would be visible secrets.
    private static func checkURL(_ text: String, _ key: ConfigurationKey) throws(Refusal) {
        guard let scheme = text.firstRange(of: "://") else {
            throw Refusal(message: "\(key.name) must be a URL such as ws://HOST:18789")
        }
        let rest = text[scheme.upperBound...]
        let authority = rest.prefix { $0 != "/" && $0 != "?" && $0 != "#" }
        guard !authority.contains("@"), !rest.contains("?") else {
            throw Refusal(message: "\(key.name) must not carry a user, password or query; use gateway.tokenFile")
        }
    }

    private static func refusal(_ key: ConfigurationKey, _ text: String) -> Refusal {
        Refusal(message: "\(key.name) must be \(article(key.kind.noun)), not \"\(text.prefix(80))\"")
    }

    private static func article(_ noun: String) -> String {
        guard let first = noun.first, first.isLetter, !noun.contains(" or ") else { return noun }
        return (noun == "object" ? "an " : "a ") + noun
    }

    private static func trimmed(_ text: Substring) -> String {
        String(text.drop { $0 == " " }.reversed().drop { $0 == " " }.reversed())
    }
}
