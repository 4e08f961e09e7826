/// The source of a value; later cases win over earlier ones.
package enum ConfigurationOrigin: Sendable, Equatable, CustomStringConvertible {
    case fallback
    /// The OpenClaw configuration of this host.
    case discovered(String)
    case file(path: String, position: TextPosition)
    case environment(String)
    case flag(String)

    package var description: String {
        switch self {
        case .fallback: "default"
        case .discovered(let source): "found in \(source)"
        case .file(let path, let position): "\(path):\(position)"
        case .environment(let name): "environment \(name)"
        case .flag(let flag): "flag \(flag)"
        }
    }
}

/// One error of the configuration, with its place and a hint.
package struct ConfigurationProblem: Error, Sendable, Equatable, CustomStringConvertible {
    package let origin: ConfigurationOrigin
    package let message: String
    package let hint: String?

    package init(origin: ConfigurationOrigin, message: String, hint: String? = nil) {
        self.origin = origin
        self.message = message
        self.hint = hint
    }

    package var description: String { "\(origin): \(message)" + (hint.map { "; \($0)" } ?? "") }
}
