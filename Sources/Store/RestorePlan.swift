import POSIX

/// The renames with which a restored state takes the place of the earlier one, in a file. The file is there from before
/// the first of them until after the last, so whoever opens the directory after a power cut finishes them.
struct RestorePlan: Equatable {
    static let name = "restore-plan"
    static let suffix = ".restored"
    private static let placePrefix = "before-restore-"

    /// The folder for the earlier state.
    let place: String
    /// The files of the restored state, each of which waits under its name with the suffix.
    let new: [String]
    /// The files of the earlier state.
    let old: [String]

    init(at milliseconds: Int64, new: [String], old: [String]) {
        place = "\(Self.placePrefix)\(milliseconds)"
        self.new = new
        self.old = old
    }

    init?(_ bytes: [UInt8]) {
        let lines = String(decoding: bytes, as: UTF8.self).split(separator: "\n").map(String.init)
        guard let place = lines.first, place.hasPrefix(Self.placePrefix), lines.last == "end",
            !lines.contains(where: { $0.utf8.contains(UInt8(ascii: "/")) })
        else { return nil }
        self.place = place
        new = lines.filter { $0.hasPrefix("new ") }.map { String($0.dropFirst(4)) }
        old = lines.filter { $0.hasPrefix("old ") }.map { String($0.dropFirst(4)) }
    }

    var bytes: [UInt8] {
        let lines = [place] + new.map { "new \($0)" } + old.map { "old \($0)" } + ["end"]
        return Array((lines.joined(separator: "\n") + "\n").utf8)
    }

    /// The renames that are still to be done. A file of the earlier state is one that is not replaced by a new one, or
    /// whose replacement still waits.
    func moves(in directory: String) -> [(from: String, to: String)] {
        let isThere = { (name: String) in FileSystem.exists("\(directory)/\(name)") }
        let leaving = old.filter { isThere($0) && (!new.contains($0) || isThere($0 + Self.suffix)) }
        let coming = new.filter { isThere($0 + Self.suffix) }
        return leaving.map { ("\(directory)/\($0)", "\(directory)/\(place)/\($0)") }
            + coming.map { ("\(directory)/\($0)\(Self.suffix)", "\(directory)/\($0)") }
    }

    /// Writes the plan and does it.
    func perform(in directory: String) throws(SystemError) {
        try PrivateFile("\(directory)/\(Self.name)").replace(with: bytes)
        try finish(in: directory)
    }

    private func finish(in directory: String) throws(SystemError) {
        let moves = moves(in: directory)
        let folder = "\(directory)/\(place)"
        if moves.contains(where: { $0.to.hasPrefix("\(folder)/") }), !FileSystem.exists(folder) {
            try FileSystem.makeDirectory(folder)
        }
        for move in moves { try FileSystem.rename(move.from, to: move.to) }
        if FileSystem.exists(folder) { try FileSystem.synchronise(directory: folder) }
        try FileSystem.synchronise(directory: directory)
        try FileSystem.remove("\(directory)/\(Self.name)")
        try FileSystem.synchronise(directory: directory)
    }

    static func isUnfinished(in directory: String) -> Bool { FileSystem.exists("\(directory)/\(name)") }

    /// Finishes a restore that was cut off, if there is one.
    static func finish(in directory: String) throws(StateDirectoryError) {
        let path = "\(directory)/\(name)"
        do throws(SystemError) {
            guard let bytes = try PrivateFile(path).read() else { return }
            if let plan = RestorePlan(bytes) { return try plan.finish(in: directory) }
        } catch {
            throw .unfinishedRestore(path: directory, reason: error.reason)
        }
        throw .unreadablePlan(path: path)
    }
}
