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

    package var hasTLS: Bool { !list(.tlsCert).isEmpty }

    /// The files that must be readable by their owner alone.
    package var secretFiles: [(key: ConfigurationKey, path: String)] {
        ConfigurationTable.keys.compactMap { key in
            guard key.kind == .secretFile, let path = text(key) else { return nil }
            return (key, path)
        } + list(.tlsKey).map { (.tlsKey, $0) }
    }
}
