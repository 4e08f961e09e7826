import Basics
import JSONBytes

/// A person's named Ladles, in a file that only its owner may read, because it holds tokens.
struct ContextFile: Equatable {
    struct Context: Equatable {
        let name: String
        let address: WebAddress
        var token: String?
        var pin: [UInt8]?

        var place: ServerPlace { ServerPlace(.tcp(address), token: token, pin: pin) }
    }

    /// The name of this host's own Ladle, which always exists.
    static let local = "local"
    static let maximumBytes = 1 << 20

    private(set) var contexts: [Context] = []
    /// The context that commands use; nil for this host.
    private(set) var current: String?

    init() {}

    /// Nil if the bytes are not in this version's format.
    init?(parsing bytes: [UInt8]) {
        guard let root = try? JSONDocument(parsing: bytes).root, root["contexts"]?.kind == .array else { return nil }
        for entry in root["contexts"].list {
            guard let name = entry["name"]?.string, let address = entry["url"]?.string.flatMap(WebAddress.init) else {
                return nil
            }
            let pin = entry["pin"]?.string.flatMap(ServerPlace.pin)
            // A pin that cannot be read must not become none: any certificate would do.
            if let written = entry["pin"], !written.isNull, pin == nil { return nil }
            let context = Context(name: name, address: address, token: entry["token"]?.string, pin: pin)
            contexts.append(context)
        }
        current = root["current"]?.string
    }

    subscript(name: String) -> Context? { contexts.first { $0.name == name } }

    static func isName(_ text: String) -> Bool {
        !text.isEmpty && text.utf8.count <= 64 && text != local
            && text.utf8.allSatisfy { byte in
                byte == 0x2D || byte == 0x2E || byte == 0x5F || (0x30...0x39).contains(byte)
                    || (0x61...0x7A).contains(byte | 0x20)
            }
    }

    /// Adds a context or replaces the one with the same name.
    mutating func set(_ context: Context) {
        contexts.removeAll { $0.name == context.name }
        contexts.append(context)
        contexts.sort { $0.name < $1.name }
    }

    mutating func remove(_ name: String) {
        contexts.removeAll { $0.name == name }
        if current == name { current = nil }
    }

    mutating func use(_ name: String) { current = name == Self.local ? nil : name }

    var bytes: [UInt8] {
        var writer = JSONWriter()
        writer.object { object in
            object.member("current", current)
            object.array("contexts") { list in
                for context in contexts {
                    list.object { entry in
                        entry.member("name", context.name)
                        entry.member("url", context.address.description)
                        entry.member("token", context.token)
                        entry.member("pin", context.pin.map(Hex.encode))
                    }
                }
            }
        }
        return writer.bytes + [0x0A]
    }
}
