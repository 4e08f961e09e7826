import JSONBytes

/// The configuration file: objects whose nested names, joined by dots, are keys.
struct FileSettings {
    private let file: SettingsSources.File

    init(_ file: SettingsSources.File) {
        self.file = file
    }

    func apply(to settings: inout Settings, problems: inout [ConfigurationProblem]) {
        // An empty file, or one with only comments, sets nothing.
        if JSON5Text.isEmpty(file.bytes) { return }
        let text: JSON5Text
        do throws(JSON5Error) {
            text = try JSON5Text(parsing: file.bytes)
        } catch {
            problems.append(ConfigurationProblem(origin: origin(error.position), message: error.message))
            return
        }
        guard text.root.kind == .object else {
            problems.append(
                ConfigurationProblem(
                    origin: origin(text.position(of: text.root)),
                    message: "the file must hold an object"
                )
            )
            return
        }
        read(text.root, below: "", text, &settings, &problems)
    }

    private func read(
        _ object: JSONValue,
        below group: String,
        _ text: JSON5Text,
        _ settings: inout Settings,
        _ problems: inout [ConfigurationProblem]
    ) {
        for (member, value) in object.members {
            let name = group.isEmpty ? member : group + "." + member
            let origin = origin(text.position(of: value))
            if ConfigurationTable.isGroup(name), value.kind == .object {
                read(value, below: name, text, &settings, &problems)
            } else if let key = ConfigurationTable.key(named: name) ?? shorthand(name, value) {
                // null means the same as no value.
                if value.isNull { continue }
                if case .file(_, let first) = settings[key]?.origin {
                    problems.append(
                        ConfigurationProblem(origin: origin, message: "\(key.name) stands in line \(first.line) too")
                    )
                    continue
                }
                do throws(ConfigurationReader.Refusal) {
                    settings.set(key, try ConfigurationReader.value(value, of: key), from: origin)
                } catch {
                    problems.append(ConfigurationProblem(origin: origin, message: error.message))
                }
            } else {
                let hint =
                    SettingsSources.secretHint(name)
                    ?? ConfigurationTable.nearest(name: name).map { "did you mean \($0)?" }
                problems.append(ConfigurationProblem(origin: origin, message: "unknown key \(name)", hint: hint))
            }
        }
    }

    private func shorthand(_ name: String, _ value: JSONValue) -> ConfigurationKey? {
        ConfigurationTable.isGroup(name) && value.kind != .object ? ConfigurationTable.shorthand(name) : nil
    }

    private func origin(_ position: TextPosition) -> ConfigurationOrigin { .file(path: file.path, position: position) }
}
