import Configuration

/// `--name value`, `--name=value` and bare switches as settings.
enum ConfigurationFlags {
    struct Fault: Error, CustomStringConvertible {
        let description: String
    }

    static func parse(_ arguments: [String]) throws(Fault) -> [SettingsSources.Flag] {
        var flags: [SettingsSources.Flag] = []
        var rest = arguments[...]
        while let argument = rest.popFirst() {
            let parts = argument.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
            guard argument.hasPrefix("--"), let key = ConfigurationTable.key(flag: parts[0]) else {
                throw Fault(description: "unknown argument \(argument)")
            }
            var text = parts.count > 1 ? parts[1] : nil
            if text == nil { text = key.kind == .bool ? "true" : rest.popFirst() }
            guard let text else { throw Fault(description: "\(argument) needs a value") }
            flags.append(SettingsSources.Flag(key: key, spelling: parts[0], text: text))
        }
        return flags
    }
}
