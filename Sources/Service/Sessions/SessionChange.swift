import Gateway

/// A change of a session's settings; nil leaves a setting alone.
package struct SessionChange: Sendable, Equatable {
    /// A setting to write, or to reset to its default.
    package enum Setting: Sendable, Equatable {
        case set(String)
        case clear

        var text: String? { if case .set(let text) = self { text } else { nil } }

        fileprivate var wire: SessionsPatch.Setting<String> {
            switch self {
            case .set(let text): .set(text)
            case .clear: .clear
            }
        }
    }

    package var label: Setting?
    package var model: Setting?
    package var thinking: Setting?
    package var verbose: Setting?
    package var unread: Bool?
    package var pinned: Bool?
    package var archived: Bool?

    package init() {}

    /// The settings that changed without being requested.
    func others(from before: SessionInfo, to after: SessionInfo) -> [String] {
        var names: [String] = []
        if label == nil, before.label != after.label { names.append("label") }
        if model == nil, before.model != after.model { names.append("model") }
        if model == nil, before.provider != after.provider { names.append("provider") }
        if thinking == nil, before.thinking != after.thinking { names.append("thinking") }
        if before.thinkingLevels != after.thinkingLevels { names.append("thinkingLevels") }
        if verbose == nil, before.verbose != after.verbose { names.append("verbose") }
        if before.contextTokens != after.contextTokens { names.append("contextTokens") }
        return names
    }
}

extension SessionsPatch.Change {
    init(_ change: SessionChange) {
        self.init()
        label = change.label?.wire
        model = change.model?.wire
        thinking = change.thinking?.wire
        verbose = change.verbose?.wire
        unread = change.unread
        pinned = change.pinned
        archived = change.archived
    }
}
