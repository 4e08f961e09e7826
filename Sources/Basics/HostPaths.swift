/// Replaces a host's paths in texts that are shown elsewhere.
package enum HostPaths {
    private static let ends: Set<Character> = [" ", "\n", "\t", "\"", "'", "`", "(", ")", ",", ";", "<", ">"]

    package static func removed(from text: String) -> String {
        var shown = ""
        for word in text.split(omittingEmptySubsequences: false, whereSeparator: { ends.contains($0) }) {
            let isPath = word.hasPrefix("/") || word.hasPrefix("~/") || word.dropFirst().hasPrefix(":\\")
            shown += isPath && word.utf8.count > 1 ? "…" : word
            if word.endIndex < text.endIndex { shown.append(text[word.endIndex]) }
        }
        return shown
    }
}
