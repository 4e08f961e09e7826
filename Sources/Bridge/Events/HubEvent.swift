package import Basics
package import Store
package import EventStream
package import JSONBytes

/// One event on its way to subscribers, immutable; its wire forms are made once, when the first subscriber needs them.
package final class HubEvent {
    /// The piece of a run's text that a `run.delta` carries, kept apart so that two can be joined.
    package struct Delta {
        package let run: String
        package let session: String
        package let offset: Int
        package let text: String
        package let replaces: Bool
    }

    package let type: String
    package let session: String?
    package let run: String?
    /// Durable events have one.
    package let id: EventID?
    /// One JSON object on one line.
    package let data: [UInt8]
    let delta: Delta?
    /// Milliseconds until a client comes back; stands inside the block of `hello` and `shutdown`.
    let retry: Int?
    private var forms: [StreamFormat: [UInt8]] = [:]

    package init(
        type: String,
        session: String? = nil,
        run: String? = nil,
        id: EventID? = nil,
        data: [UInt8],
        delta: Delta? = nil,
        retry: Int? = nil
    ) {
        self.retry = retry
        self.type = type
        self.session = session
        self.run = run
        self.id = id
        self.data = data
        self.delta = delta
    }

    package convenience init(_ stored: StoredEvent) {
        self.init(type: stored.type, session: stored.session, run: stored.run, id: stored.id, data: stored.data)
    }

    /// An event that is not kept: `type` and `at`, then what `body` writes.
    package convenience init(
        transient type: String,
        at: Timestamp,
        session: String? = nil,
        run: String? = nil,
        _ body: (inout JSONWriter) -> Void
    ) {
        var writer = JSONWriter()
        writer.object { object in
            object.member("type", type)
            object.member("at", at)
            object.member("session", session)
            object.member("runId", run)
            body(&object)
        }
        self.init(type: type, session: session, run: run, data: writer.bytes)
    }

    package convenience init(_ delta: Delta, at: Timestamp) {
        var writer = JSONWriter(capacity: delta.text.utf8.count + 160)
        writer.object { object in
            object.member("type", "run.delta")
            object.member("at", at)
            object.member("session", delta.session)
            object.member("runId", delta.run)
            object.member("text", delta.text)
            object.member("offset", delta.offset)
            if delta.replaces { object.member("replace", true) }
        }
        self.init(type: "run.delta", session: delta.session, run: delta.run, data: writer.bytes, delta: delta)
    }

    func bytes(in format: StreamFormat) -> [UInt8] {
        if let known = forms[format] { return known }
        let made = format.encode(self)
        forms[format] = made
        return made
    }

    /// Each join writes the whole piece anew; a larger one costs more than the event it saves.
    private static let mostJoined = 4 << 10

    /// This delta and the next one of the same run as one, where the next one continues it and both are small.
    func joined(with next: HubEvent, at: Timestamp) -> HubEvent? {
        guard let first = delta, let second = next.delta, first.run == second.run else { return nil }
        if second.replaces { return next }
        guard data.count + next.data.count <= Self.mostJoined else { return nil }
        guard second.offset == first.offset + first.text.utf16.count else { return nil }
        return HubEvent(
            Delta(
                run: first.run,
                session: first.session,
                offset: first.offset,
                text: first.text + second.text,
                replaces: first.replaces
            ),
            at: at
        )
    }
}
