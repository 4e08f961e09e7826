/// The node commands that clients may use. A command in no class is refused, even if a later release adds it: otherwise
/// one of many clients could use a camera, or run a program.
package struct NodePolicy: Sendable, Equatable {
    package enum Class: Sendable {
        /// Shows data of the device alone, or something to the person who holds it.
        case harmless
        /// Reveals where a person is or what data they keep.
        case privateRead
        /// Captures pictures or sound, or writes.
        case capture
        /// A shell, remote control, or speaking for the person. No setting allows these.
        case never
        /// In no class.
        case unknown
    }

    /// The reason why an entry of `nodes.allow` is invalid.
    package struct Fault: Error, Equatable {
        package let detail: String
    }

    private static let harmless: Set<String> = [
        "camera.list", "camera.ptz.status", "canvas.hide", "canvas.navigate", "canvas.present", "device.health",
        "device.info", "device.status", "system.notify",
    ]
    private static let privateReads: Set<String> = [
        "calendar.events", "contacts.search", "location.get", "motion.activity", "motion.pedometer",
        "notifications.list", "photos.latest", "reminders.list",
    ]
    private static let captures: Set<String> = [
        "calendar.add", "camera.clip", "camera.snap", "canvas.a2ui.push", "canvas.a2ui.pushJSONL", "canvas.a2ui.reset",
        "canvas.eval", "canvas.snapshot", "contacts.add", "reminders.add", "screen.record",
    ]
    /// Families that are always refused, except commands in the sets above.
    private static let neverFamilies = [
        "browser.", "computer.", "desktop.", "fs.", "mobile.ui.", "notifications.", "sms.", "system.", "talk.",
        "terminal.",
    ]

    private let allowed: Set<String>

    /// - Parameter allow: commands, and families of private reads such as `location.*`.
    package init(allow: [String] = []) throws(Fault) {
        var allowed: Set<String> = []
        for entry in allow { allowed.formUnion(try Self.commands(of: entry)) }
        self.allowed = allowed
    }

    package static let standard = NodePolicy()

    private init() { allowed = [] }

    private static func commands(of entry: String) throws(Fault) -> Set<String> {
        if entry.hasSuffix(".*") {
            let family = entry.dropLast()
            let found = privateReads.filter { $0.hasPrefix(family) }
            if !found.isEmpty { return found }
            throw Fault(
                detail:
                    "\(shown(entry)) cannot stand for a family: only private reads can be named like location.*, others one by one"
            )
        }
        switch kind(of: entry) {
        case .harmless, .privateRead, .capture: return [entry]
        case .never: throw Fault(detail: "\(shown(entry)) is never passed on, whatever the settings")
        case .unknown:
            let known = privateReads.union(captures).sorted().joined(separator: ", ")
            throw Fault(detail: "\(shown(entry)) is no command that can be allowed; there are \(known)")
        }
    }

    private static func shown(_ entry: String) -> String { entry.shown(bytes: 64) }

    package static func kind(of command: String) -> Class {
        if harmless.contains(command) { return .harmless }
        if privateReads.contains(command) { return .privateRead }
        if captures.contains(command) { return .capture }
        // Programs fold letters differently, so a refusal uses the broadest folding.
        let folded = command.lowercased()
        return neverFamilies.contains { folded.hasPrefix($0) } ? .never : .unknown
    }

    package func permits(_ command: String) -> Bool {
        switch Self.kind(of: command) {
        case .harmless: true
        case .privateRead, .capture: allowed.contains(command)
        case .never, .unknown: false
        }
    }

    /// Every permitted command.
    package var permitted: Set<String> { Self.harmless.union(allowed) }

    /// The entries of `nodes.allow`, sorted.
    package var named: [String] { allowed.sorted() }
}
