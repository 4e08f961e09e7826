/// The place and kind of an interruption of a replay.
struct ReplayCut: Sendable, Hashable, CustomStringConvertible {
    enum Kind: String, Sendable, CaseIterable {
        case ladle = "Ladle killed for 1 s"
        case ladleLong = "Ladle killed for 20 s"
        case link = "link lost for 1 s"
        case linkLong = "link lost for 20 s"

        var killsLadle: Bool { self == .ladle || self == .ladleLong }
        var milliseconds: Int64 { self == .ladle || self == .link ? 1000 : 20_000 }
    }

    /// The cut comes after this step of the recording.
    let step: Int
    let kind: Kind

    var description: String { "step \(step), \(kind.rawValue)" }
}
