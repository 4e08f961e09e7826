package import Basics
package import EventStream

/// An event to be logged. `body` is one JSON object without `id`; the log inserts the id, which only the transaction
/// knows.
package struct EventDraft: Sendable {
    package var type: String
    package var at: Timestamp
    package var session: String?
    package var run: String?
    package var matter: (any EventMatter)?
    package var body: [UInt8]

    package init(
        type: String,
        at: Timestamp,
        session: String? = nil,
        run: String? = nil,
        matter: (any EventMatter)? = nil,
        body: [UInt8]
    ) {
        self.type = type
        self.at = at
        self.session = session
        self.run = run
        self.matter = matter
        self.body = body
    }

    /// The wire form: `{"id":"…",` followed by the members of the body.
    func bytes(id: EventID) -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(body.count + 48)
        bytes.append(ascii: "{\"id\":\"")
        id.append(to: &bytes)
        bytes.append(UInt8(ascii: "\""))
        let members = body.dropFirst()
        if members.first != UInt8(ascii: "}") { bytes.append(UInt8(ascii: ",")) }
        bytes.append(contentsOf: members)
        return bytes
    }
}

/// An event as the log holds it; `data` is ready for the wire and contains its own id.
package struct StoredEvent: Sendable {
    package var id: EventID
    package var type: String
    package var at: Timestamp
    package var session: String?
    package var run: String?
    package var data: [UInt8]
    package var matter: (any EventMatter)?
    /// The row is not as it was written, and `data` is empty.
    package var isDamaged = false

    package init(
        id: EventID,
        type: String,
        at: Timestamp,
        session: String?,
        run: String?,
        data: [UInt8],
        matter: (any EventMatter)? = nil
    ) {
        self.id = id
        self.type = type
        self.at = at
        self.session = session
        self.run = run
        self.data = data
        self.matter = matter
    }
}
