import Basics
import JSONBytes

/// The description of Ladle as one device of Home Assistant, in the form of November 2024. Later members at the root
/// would make older releases refuse the whole.
package struct BrokerDiscovery: Sendable {
    package struct Settings: Sendable {
        /// Names device and entities for ever, such as `ladle_0199f3a1`.
        package var id: String
        package var name: String
        package var version: String
        /// The project's page.
        package var url: String?
        /// A page where the user can set something, which Home Assistant links to.
        package var configurationURL: String?
        package var topics: BrokerTopics
        package var scopes: BrokerScopes
        /// The session of the entity `Message`; nil for the main one.
        package var session: String?
        package var text: BrokerText
        package var hasUsage: Bool
        /// Whether the link to the gateway has the scope for approvals.
        package var hasApprovals: Bool
        package var sessions: [Session]

        package init(
            id: String,
            name: String,
            version: String,
            url: String? = nil,
            configurationURL: String? = nil,
            topics: BrokerTopics,
            scopes: BrokerScopes = .read,
            session: String? = nil,
            text: BrokerText = .short,
            hasUsage: Bool = false,
            hasApprovals: Bool = false,
            sessions: [Session] = []
        ) {
            self.id = id
            self.name = name
            self.version = version
            self.url = url
            self.configurationURL = configurationURL
            self.topics = topics
            self.scopes = scopes
            self.session = session
            self.text = text
            self.hasUsage = hasUsage
            self.hasApprovals = hasApprovals
            self.sessions = sessions
        }
    }

    /// A conversation whose model and thinking level can be chosen.
    package struct Session: Sendable {
        package let key: String
        package let label: String
        package let models: [String]
        package let thinkingLevels: [String]

        package init(key: String, label: String, models: [String], thinkingLevels: [String]) {
            self.key = key
            self.label = label
            self.models = models
            self.thinkingLevels = thinkingLevels
        }
    }

    private static let longestName = 100

    private let settings: Settings
    private let components: [DiscoveryComponent]
    package let topic: String

    package init(_ settings: Settings) {
        self.settings = settings
        topic = settings.topics.discovery(settings.id)
        // Room for the device and for tombstones.
        var room = BrokerLimits.discoveryBytes / 2
        var kept = Self.own(settings)
        for component in kept { room -= component.size }
        for component in Self.sessions(settings) {
            room -= component.size
            guard room >= 0 else { break }
            kept.append(component)
        }
        components = kept
    }

    /// The keys of the entities, sorted. One that was announced and is not among them any more is a tombstone of the
    /// next payload.
    package var keys: [String] { components.map(\.key).sorted() }

    /// - Parameter tombstones: keys of entities that Home Assistant removes. One that is only left out would stay.
    package func payload(tombstones: [String] = []) -> [UInt8] {
        let device = Self.identifier(settings.id)
        var writer = JSONWriter(capacity: 8 << 10)
        writer.object { root in
            root.object("dev") { object in
                object.array("ids", of: [device])
                object.member("name", deviceName)
                object.member("mf", "Ladle")
                object.member("mdl", "Bridge to OpenClaw")
                object.member("sw", BrokerText.short(settings.version, limit: 64))
                object.member("sn", serial(device))
                object.member("cu", settings.configurationURL.flatMap(Self.webAddress))
            }
            root.object("o") { object in
                object.member("name", "Ladle")
                object.member("sw", BrokerText.short(settings.version, limit: 64))
                object.member("url", settings.url.flatMap(Self.webAddress))
            }
            root.member("qos", 1)
            root.array("availability") { list in
                list.object { item in
                    item.member("t", settings.topics.status)
                    item.member("val_tpl", "{{ value_json.state }}")
                }
            }
            root.object("cmps") { object in
                for component in components { component.write(to: &object, device: device) }
                for key in gone(tombstones) {
                    object.object(key) { $0.member("p", Self.platform(of: key)) }
                }
            }
        }
        return writer.bytes
    }

    /// Removes the device with all its entities.
    package static let removal: [UInt8] = []

    /// Letters, digits, `_` and `-`, as topics and ids of Home Assistant have them. Others become `_`.
    static func identifier(_ text: String) -> String {
        let bytes = text.utf8.prefix(64).map { byte in
            byte.isASCIIDigit || byte.isASCIILetter || byte == UInt8(ascii: "-")
                ? byte : UInt8(ascii: "_")
        }
        return bytes.isEmpty ? "ladle" : String(decoding: bytes, as: UTF8.self)
    }

    private func gone(_ tombstones: [String]) -> [String] {
        let present = Set(components.map(\.key))
        return Set(tombstones.map(Self.identifier)).subtracting(present).sorted().prefix(100).map { $0 }
    }

    /// The user's name for the device. No entity's name may begin with it: Home Assistant warns then.
    private var deviceName: String {
        let name = BrokerText.short(settings.name, limit: Self.longestName)
        guard !name.isEmpty else { return "Ladle" }
        let clashes = components.contains { $0.name.lowercased().hasPrefix(name.lowercased()) }
        return clashes ? "Ladle \(name)" : name
    }

    private func serial(_ device: String) -> String {
        device.utf8.lastIndex(of: UInt8(ascii: "_")).map { String(device[device.index(after: $0)...]) } ?? device
    }

    /// Home Assistant refuses the whole payload for a malformed address.
    private static func webAddress(_ text: String) -> String? {
        let scheme = ["https://", "http://"].first { text.utf8.starts(with: $0.utf8) }
        guard let scheme, text.utf8.count <= 512, let first = text.utf8.dropFirst(scheme.utf8.count).first,
            first.isASCIIDigit || first.isASCIILetter || first == UInt8(ascii: "["),
            text.utf8.allSatisfy({ (0x21...0x7E).contains($0) && $0 != UInt8(ascii: "\"") && $0 != UInt8(ascii: "\\") })
        else { return nil }
        return text
    }
}
