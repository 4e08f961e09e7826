package import Basics
package import EventStream
package import JSONBytes
package import Store

/// One event on its way to the streams, immutable.
package final class StreamEvent {
    /// The piece of a run's text in a `run.delta`, kept separately so that two pieces can be joined.
    package struct Delta {
        package let run: String
        package let session: String
        package let offset: Int
        package let text: String
        package let replaces: Bool

        package init(run: String, session: String, offset: Int, text: String, replaces: Bool) {
            self.run = run
            self.session = session
            self.offset = offset
            self.text = text
            self.replaces = replaces
        }
    }

    package let type: String
    package let session: String?
    package let run: String?
    /// The id of a durable event; nil for others.
    package let id: EventID?
    /// One JSON object on one line.
    package let data: [UInt8]
    package let matter: (any EventMatter)?
    package let delta: Delta?
    private let deltaAt: Timestamp?
    /// Milliseconds until a client reconnects; written inside the block of `hello` and `shutdown`.
    package let retry: Int?
    /// Its row on the disk is damaged, and `data` has only the time.
    package let isDamaged: Bool

    package init(
        type: String,
        session: String? = nil,
        run: String? = nil,
        id: EventID? = nil,
        data: [UInt8],
        matter: (any EventMatter)? = nil,
        delta: Delta? = nil,
        deltaAt: Timestamp? = nil,
        retry: Int? = nil,
        isDamaged: Bool = false
    ) {
        self.isDamaged = isDamaged
        self.retry = retry
        self.type = type
        self.session = session
        self.run = run
        self.id = id
        self.data = data
        self.matter = matter
        self.delta = delta
        self.deltaAt = deltaAt
    }

    package convenience init(_ stored: StoredEvent) {
        var time = JSONWriter()
        if stored.isDamaged { time.object { $0.member("at", stored.at) } }
        self.init(
            type: stored.type,
            session: stored.session,
            run: stored.run,
            id: stored.id,
            data: stored.isDamaged ? time.bytes : stored.data,
            matter: stored.matter,
            isDamaged: stored.isDamaged
        )
    }

    /// An event that is not stored: `type` and `at`, then the members written by `body`.
    package convenience init(
        transient type: String,
        of matter: (any EventMatter)? = nil,
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
        self.init(type: type, session: session, run: run, data: writer.bytes, matter: matter)
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
        self.init(
            type: "run.delta",
            session: delta.session,
            run: delta.run,
            data: writer.bytes,
            delta: delta,
            deltaAt: at
        )
    }

    /// The most text of one delta, in bytes. Its escapes may take six times as many, and still fit into one event.
    private static let pieceBytes = 16 << 10

    /// Whether the event is a delta whose text goes out as several deltas.
    package var isLong: Bool { delta.map { $0.text.utf8.count > Self.pieceBytes } ?? false }

    /// A delta with a long text as several deltas that continue each other; any other event as it is.
    package var pieces: [StreamEvent] {
        guard isLong, let delta, let deltaAt else { return [self] }
        var pieces: [StreamEvent] = []
        var rest = delta.text[...]
        var offset = delta.offset
        while !rest.isEmpty {
            let bytes = rest.utf8
            var end =
                bytes.index(bytes.startIndex, offsetBy: Self.pieceBytes, limitedBy: bytes.endIndex) ?? bytes.endIndex
            while end < bytes.endIndex, UTF8.isContinuation(bytes[end]) { end = bytes.index(before: end) }
            let piece = StreamEvent.Delta(
                run: delta.run,
                session: delta.session,
                offset: offset,
                text: String(rest[..<end]),
                replaces: delta.replaces && pieces.isEmpty
            )
            pieces.append(StreamEvent(piece, at: deltaAt))
            offset += piece.text.utf16.count
            rest = rest[end...]
        }
        return pieces
    }

    /// Each join writes the whole piece again; joining a larger one would cost more than the event it saves.
    private static let mostJoined = 4 << 10

    /// This delta joined with the next one of the same run, if the next one continues it and both are small.
    package func joined(with next: StreamEvent, at: Timestamp) -> StreamEvent? {
        guard let first = delta, let second = next.delta, first.run == second.run else { return nil }
        if second.replaces { return next }
        guard data.count + next.data.count <= Self.mostJoined else { return nil }
        guard second.offset == first.offset + first.text.utf16.count else { return nil }
        return StreamEvent(
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
