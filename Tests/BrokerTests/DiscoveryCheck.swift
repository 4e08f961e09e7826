import Basics
import Broker
import JSONBytes

/// The rules of Home Assistant for a device description, as of November 2024.
enum DiscoveryCheck {
    private static let root: Set<String> = [
        "dev", "device", "o", "origin", "cmps", "components", "availability", "avty", "availability_topic", "avty_t",
        "availability_mode", "avty_mode", "availability_template", "payload_available", "payload_not_available",
        "state_topic", "command_topic", "qos", "encoding",
    ]
    private static let device: Set<String> = [
        "ids", "cns", "name", "mf", "mdl", "mdl_id", "hw", "sw", "sn", "sa", "cu", "via_device",
    ]
    private static let common: Set<String> = [
        "p", "name", "unique_id", "ic", "ent_cat", "en", "availability", "dev_cla", "stat_t", "val_tpl",
    ]
    private static let members: [String: Set<String>] = [
        "sensor": ["ops", "json_attr_t", "json_attr_tpl", "stat_cla", "unit_of_meas", "sug_dsp_prc"],
        "binary_sensor": ["json_attr_t", "json_attr_tpl"],
        "event": ["evt_typ"],
        "notify": ["cmd_t"],
        "button": ["cmd_t", "pl_prs"],
        "select": ["ops", "cmd_t", "cmd_tpl"],
        "update": ["title"],
    ]
    private static let needed: [String: [String]] = [
        "sensor": ["stat_t"], "binary_sensor": ["stat_t"], "event": ["stat_t", "evt_typ"], "notify": ["cmd_t"],
        "button": ["cmd_t"], "select": ["cmd_t", "ops"], "update": ["stat_t"],
    ]
    private static let classes: [String: Set<String>] = [
        "sensor": ["enum", "timestamp", "monetary", "duration", "data_size"],
        "binary_sensor": ["running", "problem", "connectivity", "update"],
    ]

    static func problems(in payload: [UInt8]) -> [String] {
        guard payload.count < BrokerLimits.discoveryBytes else { return ["the payload has \(payload.count) bytes"] }
        guard let value = try? JSONDocument(parsing: payload).root, value.kind == .object else { return ["no JSON"] }
        var problems: [String] = []
        for (name, _) in value.members where !root.contains(name) { problems.append("root has \(name)") }
        if value["o"]?["name"]?.string?.isEmpty ?? true { problems.append("no origin") }
        for name in ["cu", "url"] {
            let address = value["dev"]?[name]?.string ?? value["o"]?[name]?.string
            if let address, !address.hasPrefix("https://"), !address.hasPrefix("http://") {
                problems.append("address \(address)")
            }
        }
        if value["dev"]?["ids"]?[0]?.string?.isEmpty ?? true { problems.append("no device id") }
        for (name, _) in value["dev"]?.members ?? value.members where !device.contains(name) {
            problems.append("device has \(name)")
        }
        let deviceName = value["dev"]?["name"]?.string ?? ""
        if deviceName.isEmpty { problems.append("no device name") }
        var ids: Set<String> = []
        for (key, component) in value["cmps"]?.members ?? value.members {
            if key.contains(where: { !($0.isASCII && ($0.isLetter || $0.isNumber || $0 == "_" || $0 == "-")) }) {
                problems.append("key \(key)")
            }
            if component.count == 1, component["p"]?.string != nil { continue }
            problems += self.problems(in: component, deviceName).map { "\(key): \($0)" }
            if !ids.insert(component["unique_id"]?.string ?? "").inserted { problems.append("\(key): id again") }
        }
        return problems
    }

    private static func problems(in component: JSONValue, _ deviceName: String) -> [String] {
        var problems: [String] = []
        let platform = component["p"]?.string ?? ""
        guard let own = members[platform] else { return ["platform \(platform)"] }
        for (name, _) in component.members where !own.contains(name) && !common.contains(name) {
            problems.append("member \(name)")
        }
        for name in needed[platform] ?? [] where component[name] == nil { problems.append("no \(name)") }
        if component["unique_id"]?.string?.isEmpty ?? true { problems.append("no id") }
        let name = component["name"]?.string ?? ""
        if name.isEmpty || name.lowercased().hasPrefix(deviceName.lowercased()) { problems.append("name \(name)") }
        if name.unicodeScalars.count > 255 { problems.append("long name") }
        for member in ["stat_t", "cmd_t", "json_attr_t"] {
            guard let topic = component[member]?.string else { continue }
            if !isTopic(topic) { problems.append("topic \(topic)") }
        }
        if let kind = component["dev_cla"]?.string, !(classes[platform]?.contains(kind) ?? false) {
            problems.append("class \(kind)")
        }
        if component["dev_cla"]?.equals("enum") ?? false {
            if component["ops"]?.count ?? 0 == 0 { problems.append("enum without options") }
            for name in ["unit_of_meas", "stat_cla"] where component[name] != nil {
                problems.append("enum with \(name)")
            }
        }
        for option in component["ops"]?.elements ?? component.elements {
            if !(1...255).contains(option.string?.unicodeScalars.count ?? 0) { problems.append("option") }
        }
        if let category = component["ent_cat"]?.string {
            let allowed = ["sensor", "binary_sensor"].contains(platform) ? ["diagnostic"] : ["diagnostic", "config"]
            if !allowed.contains(category) { problems.append("category \(category)") }
        }
        if let icon = component["ic"]?.string, !icon.hasPrefix("mdi:") { problems.append("icon \(icon)") }
        for member in ["val_tpl", "cmd_tpl", "json_attr_tpl"] {
            guard let template = component[member]?.string else { continue }
            let isOne = template.hasPrefix("{{ ") && template.hasSuffix(" }}")
            if !isOne || template.dropFirst(2).contains("{{") || template.contains("{%") {
                problems.append("template \(template)")
            }
        }
        return problems
    }

    static func isTopic(_ topic: String) -> Bool {
        let levels = topic.utf8.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
        return topic.utf8.count <= 200 && levels.count <= 6 && !levels.contains(where: \.isEmpty)
            && topic.utf8.first != UInt8(ascii: "$")
            && topic.unicodeScalars.allSatisfy { scalar in
                scalar != "+" && scalar != "#" && scalar.value >= 0x20 && !(0x7F...0x9F).contains(scalar.value)
                    && scalar.value & 0xFFFE != 0xFFFE
            }
    }
}
