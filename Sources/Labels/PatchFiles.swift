import Basics

/// The files that a patch in the `*** Begin Patch` form names.
enum PatchFiles {
    static func label(of patch: String) -> String {
        var names: [String] = []
        for line in patch.split(whereSeparator: \.isNewline) where line.hasPrefix("*** ") {
            for verb in ["*** Update File: ", "*** Add File: ", "*** Delete File: "] where line.hasPrefix(verb) {
                guard let name = LabelText.name(ofPath: line.dropFirst(verb.count).trimmingBlanks()) else { continue }
                if !names.contains(name) { names.append(name) }
            }
            if names.count > LabelLimits.patchFiles { break }
        }
        return LabelText.list(names).map { "Editing \($0)" } ?? "Applying a patch"
    }
}
