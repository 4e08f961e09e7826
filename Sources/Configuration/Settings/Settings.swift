package import JSONBytes

/// The values in force, each with its source.
package struct Settings: Sendable {
    package struct Entry: Sendable, Equatable {
        package let value: ConfigurationValue
        package let origin: ConfigurationOrigin
    }

    private var entries: [ConfigurationKey: Entry] = [:]

    /// All keys with their defaults.
    package init() {
        for key in ConfigurationTable.keys {
            guard let fallback = key.fallback else { continue }
            let value =
                key.kind.isList && fallback.isEmpty ? .list([]) : try? ConfigurationReader.value(fallback, of: key)
            entries[key] = value.map { Entry(value: $0, origin: .fallback) }
        }
    }

    package subscript(key: ConfigurationKey) -> Entry? { entries[key] }

    package mutating func set(_ key: ConfigurationKey, _ value: ConfigurationValue, from origin: ConfigurationOrigin) {
        entries[key] = Entry(value: value, origin: origin)
    }

    package func isSet(_ key: ConfigurationKey) -> Bool {
        entries[key].map { $0.origin != .fallback } ?? false
    }

    // MARK: Typed access; a key asked for as another kind than its own is empty

    package func text(_ key: ConfigurationKey) -> String? {
        if case .text(let text) = entries[key]?.value { text } else { nil }
    }

    package func bool(_ key: ConfigurationKey) -> Bool {
        if case .bool(let value) = entries[key]?.value { value } else { false }
    }

    /// Whole numbers, bytes and milliseconds.
    package func int(_ key: ConfigurationKey) -> Int64 {
        if case .int(let value) = entries[key]?.value { value } else { 0 }
    }

    package func fraction(_ key: ConfigurationKey) -> Double {
        if case .fraction(let value) = entries[key]?.value { value } else { 0 }
    }

    package func list(_ key: ConfigurationKey) -> [String] {
        if case .list(let values) = entries[key]?.value { values } else { [] }
    }

    package var hasTLS: Bool { !list(.tlsCert).isEmpty || bool(.tlsTailnet) }

    /// The files that must be readable by their owner alone.
    package var secretFiles: [(key: ConfigurationKey, path: String)] {
        ConfigurationTable.keys.compactMap { key in
            guard key.kind == .secretFile, let path = text(key) else { return nil }
            return (key, path)
        } + list(.tlsKey).map { (.tlsKey, $0) }
    }
}

/// `config show`: every key with its value, and with `--origin` its source.
extension Settings {
    /// A value in the form of the configuration file; empty if absent.
    package func display(_ key: ConfigurationKey) -> String {
        guard let value = self[key]?.value else { return "" }
        switch (value, key.kind) {
        case (.text(let text), .url): return Self.withoutSecrets(text)
        case (.text(let text), _): return text
        case (.bool(let flag), _): return flag ? "true" : "false"
        case (.int(let number), .duration): return ConfigurationUnits.duration(number)
        case (.int(let number), .size): return ConfigurationUnits.size(number)
        case (.int(let number), _): return String(number)
        case (.fraction(let number), _): return String(number)
        case (.list(let items), .list(let separator)): return items.joined(separator: String(separator))
        case (.list(let items), _): return items.joined(separator: ",")
        }
    }

    package func write(origins: Bool, to writer: inout JSONWriter) {
        writer.object { object in
            for key in ConfigurationTable.keys {
                guard let entry = self[key] else { continue }
                guard origins else {
                    object.key(key.name)
                    write(entry.value, of: key, to: &object)
                    continue
                }
                object.object(key.name) { member in
                    member.key("value")
                    write(entry.value, of: key, to: &member)
                    member.member("origin", entry.origin.description)
                }
            }
        }
    }

    private func write(_ value: ConfigurationValue, of key: ConfigurationKey, to writer: inout JSONWriter) {
        switch value {
        case .text: writer.string(display(key))
        case .bool(let flag): writer.bool(flag)
        case .int(let number):
            // Durations and sizes are shown in the form in which they are written.
            if case .int = key.kind { writer.int(number) } else { writer.string(display(key)) }
        case .fraction(let number): writer.double(number)
        case .list(let items): writer.array(of: items)
        }
    }

    /// Parts of discovered URLs that could be secrets are not shown. Configured URLs cannot have them.
    static func withoutSecrets(_ url: String) -> String {
        guard let scheme = url.firstRange(of: "://") else { return url }
        var rest = url[scheme.upperBound...]
        let authority = rest.prefix { $0 != "/" && $0 != "?" && $0 != "#" }
        if let at = authority.lastIndex(of: "@") { rest = "***" + rest[at...] }
        let bare = rest.prefix { $0 != "?" && $0 != "#" }
        return String(url[..<scheme.upperBound]) + bare + (bare.endIndex < rest.endIndex ? "?***" : "")
    }
}
