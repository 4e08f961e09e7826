package import Basics
import JSONBytes
import Observability

/// Writes a glance in at most `mostBytes`, however long its names are: texts are cut, and if that is not enough less
/// important members are dropped, in the order of `rooms`.
package enum GlanceEncoder {
    package struct Encoded: Sendable, Equatable {
        package let bytes: [UInt8]
        /// The version; it changes whenever something shown has changed.
        package let rev: String
    }

    /// Limits on the parts of a glance.
    private struct Room {
        var tops = mostListed
        var usages = mostListed
        var hasAgent = true
        var hasToday = true
        /// The most bytes of one text as JSON.
        var textBytes = 160
    }

    /// Microcontrollers read into a buffer of this size, which includes the answer's line end.
    package static let mostBytes = 2_048
    private static let mostListed = 3
    private static let titleCharacters = 40
    private static let headlineCharacters = 80
    private static let windowCharacters = 16
    /// In bytes as JSON. A shortened key or id would name another object, so a longer one is left out.
    private static let longestID = 128

    /// Each smaller than the one before. With the last, even the longest members fit in `mostBytes`.
    private static let rooms: [Room] = {
        var rooms = [Room()]
        let steps: [(inout Room) -> Void] = [
            { $0.tops = 2 }, { $0.usages = 2 }, { $0.hasAgent = false }, { $0.hasToday = false }, { $0.textBytes = 80 },
            { $0.textBytes = 32 },
        ]
        for step in steps {
            var room = rooms[rooms.count - 1]
            step(&room)
            rooms.append(room)
        }
        return rooms
    }()

    /// - Parameter at: the time of the glance's last change.
    package static func encode(_ glance: Glance, as form: GlanceForm, at: Timestamp) -> Encoded {
        var encoded = Encoded(bytes: [], rev: "")
        for room in rooms {
            encoded =
                switch form.kind {
                case .json: json(glance, form, at: at, room)
                case .line: named(Array((line(glance) + "\n").utf8))
                case .waybar: named(waybar(glance, form, room))
                }
            if encoded.bytes.count <= mostBytes { break }
        }
        return encoded
    }

    private static func named(_ bytes: [UInt8]) -> Encoded { Encoded(bytes: bytes, rev: FNV1a.name(bytes)) }

    // MARK: JSON

    private static func json(_ glance: Glance, _ form: GlanceForm, at: Timestamp, _ room: Room) -> Encoded {
        var content = JSONWriter(capacity: mostBytes)
        content.object { write(glance, form, room, to: &$0) }
        // The version leaves the time out, since a new time alone is no change.
        let rev = FNV1a.name(content.bytes)
        var writer = JSONWriter(capacity: mostBytes)
        writer.object { object in
            if form.shows(.at) { object.member("at", at) }
            if content.bytes.count > 2 { object.raw(content.bytes.dropFirst().dropLast()) }
            if form.shows(.rev) { object.member("rev", rev) }
        }
        return Encoded(bytes: writer.bytes + [UInt8(ascii: "\n")], rev: rev)
    }

    private static func write(_ glance: Glance, _ form: GlanceForm, _ room: Room, to object: inout JSONWriter) {
        func text(_ text: String?, _ characters: Int = titleCharacters) -> String? {
            guard !form.isPrivate, let text else { return nil }
            return cut(text, characters, room.textBytes)
        }
        if form.shows(.link) { object.member("link", glance.link.rawValue) }
        if form.shows(.headline) { object.member("headline", text(glance.headline, headlineCharacters)) }
        if form.shows(.state) { object.member("state", glance.state.rawValue) }
        if form.shows(.active) { object.member("active", glance.active) }
        if form.shows(.attention) {
            object.object("attention") { inner in
                inner.member("approvals", glance.approvals)
                inner.member("questions", glance.questions)
                inner.member("outbox", glance.outbox?.troubled)
                guard let next = glance.next else { return }
                inner.object("next") { inner in
                    inner.member("kind", next.kind.rawValue)
                    inner.member("id", whole(next.id))
                    inner.member("title", text(next.title))
                    inner.member("expiresAt", next.expiresAt)
                }
            }
        }
        if form.shows(.top) {
            object.array("top") { list in
                for top in glance.top.prefix(room.tops) {
                    list.object { inner in
                        inner.member("session", whole(top.session))
                        inner.member("title", text(top.title))
                        inner.member("label", text(top.label))
                        inner.member("since", top.since)
                    }
                }
            }
        }
        if form.shows(.outbox), let outbox = glance.outbox {
            object.object("outbox") { inner in
                inner.member("pending", outbox.pending)
                inner.member("failed", outbox.failed)
            }
        }
        writeFigures(glance, form, room, to: &object)
    }

    private static func writeFigures(_ glance: Glance, _ form: GlanceForm, _ room: Room, to object: inout JSONWriter) {
        if form.shows(.usage), !glance.usage.isEmpty {
            object.array("usage") { list in
                for usage in glance.usage.prefix(room.usages) {
                    list.object { inner in
                        inner.member("id", whole(usage.id))
                        inner.member("window", cut(usage.window, windowCharacters, room.textBytes))
                        inner.member("used", usage.used)
                        inner.member("resetsAt", usage.resetsAt)
                    }
                }
            }
        }
        if form.shows(.today), room.hasToday, let today = glance.today {
            object.object("today") { inner in
                inner.member("costUsd", today.costUSD.map { ($0 * 10_000).rounded() / 10_000 })
                inner.member("tokens", today.tokens)
                if !today.isComplete { inner.member("complete", false) }
            }
        }
        if form.shows(.agent), room.hasAgent, let agent = glance.agent {
            object.object("agent") { inner in
                inner.member("name", agent.name.map { cut($0, titleCharacters, room.textBytes) })
                inner.member("emoji", agent.emoji.map { cut($0, 1, room.textBytes) })
            }
        }
        if form.shows(.unread) { object.member("unread", glance.unread) }
    }

    // MARK: Lines

    /// The line, such as `● 2 active · 1 approval · 42% 5h`.
    private static func line(_ glance: Glance) -> String {
        var parts: [String] = []
        func count(_ number: Int?, _ one: String, _ many: String) {
            if let number, number > 0 { parts.append("\(number) \(number == 1 ? one : many)") }
        }
        if glance.state == .offline { parts.append("offline") }
        count(glance.active, "active", "active")
        count(glance.approvals, "approval", "approvals")
        count(glance.questions, "question", "questions")
        count(glance.outbox?.failed, "failed", "failed")
        count(glance.outbox?.unconfirmed, "unconfirmed", "unconfirmed")
        count(glance.outbox?.refused, "refused", "refused")
        if parts.isEmpty { parts.append("idle") }
        if glance.state == .offline { count(glance.outbox?.pending, "queued", "queued") }
        if let usage = glance.usage.first {
            parts.append("\(usage.used)% \(cut(Printable.line(usage.window), windowCharacters, 64))")
        }
        count(glance.unread, "unread", "unread")
        let isBusy = glance.state == .working || glance.state == .attention
        return "\(isBusy ? "●" : "○") " + parts.joined(separator: " · ")
    }

    /// Waybar parses its texts as Pango markup, so titles are escaped.
    private static func waybar(_ glance: Glance, _ form: GlanceForm, _ room: Room) -> [UInt8] {
        func marked(_ text: String, _ characters: Int = titleCharacters) -> String {
            cut(Printable.line(text), characters, room.textBytes) { character in
                switch character {
                case "&": "&amp;"
                case "<": "&lt;"
                case ">": "&gt;"
                default: String(character)
                }
            }
        }
        let text = marked(line(glance), headlineCharacters)
        var lines = [text]
        if !form.isPrivate {
            lines.append(marked(glance.headline, headlineCharacters))
            for top in glance.top.prefix(room.tops) { lines.append("\(marked(top.title)): \(marked(top.label))") }
            if let next = glance.next, let title = next.title {
                lines.append("\(next.kind.rawValue): \(marked(title))")
            }
        }
        var writer = JSONWriter(capacity: mostBytes)
        writer.object { object in
            object.member("text", text)
            object.member("tooltip", lines.joined(separator: "\n"))
            object.member("class", glance.state.rawValue)
        }
        return writer.bytes + [UInt8(ascii: "\n")]
    }

    // MARK: Cutting

    /// The text in so many characters, each at most so many bytes as JSON. A cut text ends in an ellipsis, which
    /// counts.
    /// - Parameter spell: writes one character in the output format.
    private static func cut(
        _ text: String,
        _ characters: Int,
        _ bytes: Int,
        _ spell: (Character) -> String = { String($0) }
    ) -> String {
        let ellipsis = "…"
        var pieces: [(text: String, size: Int)] = []
        var size = 0
        for character in text {
            // One character can have any number of combining marks.
            let piece = spell(character)
            let length = piece.utf8.count <= bytes ? jsonBytes(piece) : .max
            if pieces.count < characters, length <= bytes - size {
                pieces.append((piece, length))
                size += length
                continue
            }
            while pieces.count >= characters || size + ellipsis.utf8.count > bytes, let last = pieces.popLast() {
                size -= last.size
            }
            return pieces.map(\.text).joined() + ellipsis
        }
        return pieces.map(\.text).joined()
    }

    private static func whole(_ id: String) -> String? {
        id.utf8.count <= longestID && jsonBytes(id) <= longestID ? id : nil
    }

    private static func jsonBytes(_ text: String) -> Int {
        var writer = JSONWriter(capacity: 16)
        writer.string(text)
        return writer.bytes.count - 2
    }
}
