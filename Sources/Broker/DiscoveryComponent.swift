import JSONBytes

/// One entity of a device description: its key, which is stable for ever, and its members.
struct DiscoveryComponent {
    enum Value {
        case text(String)
        case number(Int)
        case flag(Bool)
        case list([String])
    }

    let key: String
    let platform: String
    let name: String
    private var members: [(name: String, value: Value)] = []

    init(_ key: String, _ platform: String, _ name: String, icon: String? = nil) {
        self.key = key
        self.platform = platform
        self.name = name
        if let icon { members.append(("ic", .text("mdi:\(icon)"))) }
    }

    func with(_ name: String, _ value: Value) -> DiscoveryComponent {
        var copy = self
        copy.members.append((name, value))
        return copy
    }

    func with(_ name: String, _ text: String) -> DiscoveryComponent { with(name, .text(text)) }

    /// The state is one member of the topic's JSON.
    func state(_ topic: String, _ template: String) -> DiscoveryComponent {
        with("stat_t", topic).with("val_tpl", "{{ \(template) }}")
    }

    /// Attributes are the named members of the topic's JSON. Others would make a row in the recorder with each change.
    func attributes(_ topic: String, _ names: String...) -> DiscoveryComponent {
        let items = names.map { "'\($0)': value_json.\($0)" }.joined(separator: ", ")
        return with("json_attr_t", topic).with("json_attr_tpl", "{{ {\(items)} | to_json }}")
    }

    var diagnostic: DiscoveryComponent { with("ent_cat", "diagnostic") }
    /// The user switches it on in Home Assistant.
    var isOff: DiscoveryComponent { with("en", .flag(false)) }

    /// The bytes that it takes, without the device's id.
    var size: Int { JSONWriter.bytes { write(to: &$0, device: "") }.count + 64 }

    func write(to writer: inout JSONWriter, device: String) {
        writer.object(key) { object in
            object.member("p", platform)
            object.member("name", name)
            object.member("unique_id", "\(device)_\(key)")
            for (name, value) in members {
                switch value {
                case .text(let text): object.member(name, text)
                case .number(let number): object.member(name, number)
                case .flag(let flag): object.member(name, flag)
                case .list(let texts): object.array(name, of: texts)
                }
            }
        }
    }
}
