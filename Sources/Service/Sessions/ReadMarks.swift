import Basics
package import EventLoops
import Runs
import Store

/// How far each client has read each session: a message's position, and the number of answers since.
package final class ReadMarks {
    private struct Name: Hashable {
        let reader: String
        let session: SessionKey

        var text: String { "\(reader)\n\(session.text)" }

        init(reader: String, session: String) {
            self.reader = reader
            self.session = SessionKey(canonical: session)
        }

        init?(_ text: String) {
            let parts = text.split(separator: "\n", maxSplits: 1)
            guard parts.count == 2 else { return nil }
            reader = String(parts[0])
            session = SessionKey(canonical: String(parts[1]))
        }
    }

    private struct Mark: Sendable {
        let place: MessageTable.Place
        var unread: Int
    }

    private static let space = "read"
    /// A household has some ten clients and some hundred sessions; above this, the mark of the oldest message is
    /// dropped.
    private static let most = 2_000
    /// The highest count; beyond it an exact number is of no use.
    private static let mostCounted = 500

    private let feed: EventFeed
    private let events: ServiceEvents
    private var marks: [Name: Mark] = [:]
    /// Answers that arrived while a mark was being written to disk.
    private var meanwhile: [Name: Int] = [:]

    init(feed: EventFeed, events: ServiceEvents) {
        self.feed = feed
        self.events = events
    }

    /// Loads the marks of earlier processes.
    func load(on loop: isolated EventLoop) {
        feed.readSaved("marks", on: loop) { tables in
            try tables.values.all(space: Self.space).compactMap { row -> (Name, Mark)? in
                guard let name = Name(row.name), let place = Self.place(row.value.bytes) else { return nil }
                return (
                    name, Mark(place: place, unread: try Self.count(tables.messages, name.session.text, after: place))
                )
            }
        } failed: { _ in
        } completion: { [weak self] saved in
            guard let self else { return }
            for (name, mark) in saved where self.marks[name] == nil { self.marks[name] = mark }
            self.events.changed()
        }
    }

    /// The unread count; nil if the reader has never marked this session.
    package func unread(by reader: String, in session: String) -> Int? {
        marks.isEmpty ? nil : marks[Name(reader: reader, session: session)].map { min($0.unread, Self.mostCounted) }
    }

    /// Whether the reader has ever set a mark.
    func knows(_ reader: String) -> Bool { marks.keys.contains { $0.reader == reader } }

    /// Unread counts by session.
    func unread(by reader: String) -> [SessionKey: Int] {
        marks.reduce(into: [:]) { found, mark in
            if mark.key.reader == reader { found[mark.key.session] = min(mark.value.unread, Self.mostCounted) }
        }
    }

    /// - Parameters:
    ///   - message: the last read message; nil means all of them. A mark never moves back.
    ///   - completion: gets false if the session has no such message.
    package func set(
        _ reader: String,
        in session: String,
        to message: String?,
        on loop: isolated EventLoop,
        completion: @escaping (Result<Bool, any Error>) -> Void
    ) {
        let name = Name(reader: reader, session: session)
        meanwhile[name] = 0
        let oldest =
            marks.count >= Self.most && marks[name] == nil ? marks.min { $0.value.place.at < $1.value.place.at } : nil
        let first = oldest?.key
        feed.commit(cost: 256, on: loop) { transaction -> Mark? in
            let found =
                if let message {
                    try transaction.messages.place(session: session, id: message)
                } else {
                    try transaction.messages.newestPlace(session: session)
                }
            guard let found else { return nil }
            let last = try transaction.values.get(space: Self.space, name: name.text).flatMap { Self.place($0.bytes) }
            let place = last.map { ($0.at, $0.ordinal) > (found.at, found.ordinal) ? $0 : found } ?? found
            try transaction.values.set(
                Self.bytes(place),
                space: Self.space,
                name: name.text,
                at: transaction.now
            )
            if let first { try transaction.values.remove(space: Self.space, name: first.text) }
            return Mark(place: place, unread: try Self.count(transaction.messages, session, after: place))
        } completion: { [self] result in
            let later = meanwhile.removeValue(forKey: name) ?? 0
            if case .success(let mark?) = result {
                if let first { marks[first] = nil }
                marks[name] = Mark(place: mark.place, unread: mark.unread + later)
                events.changed()
            }
            completion(result.map { $0 != nil })
        }
    }

    func said(_ message: ChatMessage, in session: String) {
        guard message.role == .assistant else { return }
        let session = SessionKey(canonical: session)
        for name in marks.keys where name.session == session {
            guard let mark = marks[name], mark.place.at < message.at else { continue }
            marks[name]?.unread += 1
        }
        for name in meanwhile.keys where name.session == session { meanwhile[name]? += 1 }
    }

    /// Resets the counts, because the session continues with a new conversation.
    func begin(_ session: String) {
        let session = SessionKey(canonical: session)
        for name in marks.keys where name.session == session { marks[name]?.unread = 0 }
    }

    // MARK: On disk

    private static func count(
        _ messages: MessageTable,
        _ session: String,
        after place: MessageTable.Place
    ) throws -> Int {
        try messages.list(session: session, after: place, limit: mostCounted).count { $0.role == .assistant }
    }

    private static func bytes(_ place: MessageTable.Place) -> [UInt8] {
        Array("\(place.at.milliseconds) \(place.ordinal)".utf8)
    }

    private static func place(_ bytes: [UInt8]) -> MessageTable.Place? {
        let parts = String(decoding: bytes, as: UTF8.self).split(separator: " ").map { Int64($0) }
        guard parts.count == 2, let at = parts[0], let ordinal = parts[1] else { return nil }
        return MessageTable.Place(at: Timestamp(milliseconds: at), ordinal: ordinal)
    }
}
