package import Basics
package import EventLoops
package import Gateway
import JSONBytes
package import Ledger
package import Outbox
import Store
import TLS

/// A checked message as its sender gave it.
package struct NewMessage: Sendable {
    /// An Idempotency-Key, with its caller and operation.
    package struct Key: Sendable {
        let scope: String
        let value: String

        package init(scope: String, value: String) {
            self.scope = scope
            self.value = value
        }

        /// The scope of a caller's messages.
        package static func scope(of caller: String) -> String { "\(caller) POST /v1/messages" }

        /// One for each key of each caller.
        package var name: String { "\(scope)\n\(value)" }
    }

    fileprivate enum KeyUse {
        case free
        /// The key is this message's until its write has ended.
        case held
        /// Another request under the key is on its way to disk.
        case heldByAnother
    }

    package var session: String
    package var text: String
    package var thinking: String?
    package var mode = MessageMode.own
    /// Name, media type and base 64 of each attachment, as JSON.
    package var attachments: [UInt8]?
    package var notBefore: Timestamp?
    package var ttlMilliseconds: Int64?
    /// The message cannot be accepted now, as with a `notBefore` that is past. Only a repeat of a request that was
    /// accepted under the same key gets an answer.
    package var isReplayOnly = false
    package var key: Key?
    fileprivate var keyUse = KeyUse.free
    /// The body of the request: the same key with another body is an error.
    package var body: [UInt8] = []
    /// The identity of the sender.
    package var owner: String?
    /// The sender is not the owner, so it gets a share of the outbox.
    package var isShared = false
    /// A notification caused this message, so its run causes no further one.
    package var isEcho = false
    /// Records of the OpenAI door, written with the message or not at all.
    package var rows: [DoorRows.Row] = []

    package init(session: String, text: String) {
        self.session = session
        self.text = text
    }

    /// The parts of the entry's payload other than the text.
    fileprivate var extras: [UInt8]? {
        guard thinking != nil || attachments != nil else { return nil }
        var writer = JSONWriter(capacity: (attachments?.count ?? 0) + 128)
        writer.object { object in
            object.member("thinking", thinking)
            object.member("attachments", raw: attachments)
        }
        return writer.bytes
    }
}

/// Takes messages into the outbox: one new message at a time per idempotency key, limits, and the write that makes a
/// message durable.
package final class MessageIntake {
    package enum Outcome {
        case accepted(OutboxEntry)
        /// The same request came before; its entry in its current state.
        case repeated(OutboxEntry)
        case keyReused
        /// Of a message that is only a repeat: no request was accepted under its key.
        case notAccepted
        /// The first request with this key is not on disk yet.
        case keyInUse
        case full(OutboxFullness, OutboxLimits)
    }

    private let feed: EventFeed
    private let events: ServiceEvents
    private let outbox: OutboxService
    private let limits: OutboxLimits
    private let ttlMilliseconds: Int64
    /// Idempotency keys of requests that are on their way to disk: a new message, or a repeat that is still looked up.
    private var keysInUse: Set<String> = []
    /// The room of each sender's messages that are on their way to disk.
    private var onTheWay: [String: OutboxRoom] = [:]

    init(
        feed: EventFeed,
        events: ServiceEvents,
        outbox: OutboxService,
        limits: OutboxLimits,
        ttlMilliseconds: Int64
    ) {
        self.feed = feed
        self.events = events
        self.outbox = outbox
        self.limits = limits
        self.ttlMilliseconds = ttlMilliseconds
    }

    /// Reserves the message's key until `commit` has ended. If another request holds the key, this one can only repeat an
    /// accepted message.
    package func reserveKey(of message: inout NewMessage) {
        guard let key = message.key else { return }
        if keysInUse.contains(key.name) {
            message.keyUse = .heldByAnother
        } else if !message.isReplayOnly {
            keysInUse.insert(key.name)
            message.keyUse = .held
        }
    }

    /// The newest key with this beginning under which a caller's message was accepted since then; nil if there is none.
    package func newestKey(
        of caller: String,
        beginning: String,
        since: Timestamp,
        on loop: isolated EventLoop
    ) async -> String? {
        let scope = NewMessage.Key.scope(of: caller)
        return try? await feed.read(on: loop) { tables in
            try tables.receipts.newestKey(in: scope, beginning: beginning, since: since)
        }
    }

    /// The entry that a message becomes when committed.
    package func entry(for message: NewMessage, now: Timestamp) -> OutboxEntry {
        OutboxEntry(
            id: UUIDv7.make(milliseconds: now.milliseconds, random: SecureRandom.bytes(10)),
            session: message.session,
            text: message.text,
            createdAt: now,
            expiresAt: (message.notBefore ?? now).adding(milliseconds: message.ttlMilliseconds ?? ttlMilliseconds),
            notBefore: message.notBefore,
            owner: message.owner,
            payloadBytes: message.text.utf8.count,
            mode: message.mode
        )
    }

    /// Writes the message. A new entry is announced to the other services before `completion` is called.
    package func commit(
        _ message: NewMessage,
        as entry: OutboxEntry,
        on loop: isolated EventLoop,
        completion: @escaping (Result<Outcome, any Error>) -> Void
    ) {
        let limits = limits(for: message)
        let room = OutboxRoom(entries: 1, bytes: message.text.utf8.count + (message.attachments?.count ?? 0))
        if let owner = message.owner { onTheWay[owner, default: OutboxRoom()].add(room) }
        let body = message.key == nil ? [] : message.body
        let cost = message.text.utf8.count + (message.attachments?.count ?? 0) + body.count + 1024
        feed.commit(cost: cost, on: loop) { transaction in
            // On the store's queue, because a large message takes time.
            let payload = OutboxTable.Payload(text: message.text, body: message.extras)
            // The same text for another session is a different request.
            let mode = message.mode == .own ? "" : "\(message.mode.rawValue)\n"
            let meaning = Array("\(message.session)\n\(message.thinking ?? "")\n\(mode)".utf8)
            let claim = message.key.map { key in
                ReceiptTable.Claim(scope: key.scope, key: key.value, bodyHash: Digest.sha256(meaning + body))
            }
            if message.isEcho { try transaction.notifications.noteEcho(entry: entry.id, at: transaction.now) }
            let taken = try transaction.enqueue(
                entry,
                payload: payload,
                claim: claim,
                isReplayOnly: message.isReplayOnly || message.keyUse == .heldByAnother,
                limits: limits
            )
            if case .accepted = taken { try DoorRows.save(message.rows, in: &transaction) }
            return taken
        } completion: { [self] (result: Result<Enqueuing, any Error>) in
            if let key = message.key, message.keyUse == .held { keysInUse.remove(key.name) }
            let outcome = result.map { self.outcome(of: $0, for: message, limits, on: loop) }
            if let owner = message.owner { arrived(room, of: owner) }
            completion(outcome)
        }
    }

    private func limits(for message: NewMessage) -> OutboxLimits {
        guard message.isShared, let owner = message.owner else { return limits }
        var used = outbox.room(of: owner)
        used.add(onTheWay[owner] ?? OutboxRoom())
        return limits.shared(by: used)
    }

    private func arrived(_ room: OutboxRoom, of owner: String) {
        onTheWay[owner]?.remove(room)
        if onTheWay[owner]?.entries == 0 { onTheWay[owner] = nil }
    }

    private func outcome(
        of enqueuing: Enqueuing,
        for message: NewMessage,
        _ limits: OutboxLimits,
        on loop: isolated EventLoop
    ) -> Outcome {
        switch enqueuing {
        case .accepted(let entry):
            KillPoint.reach("enqueue.committed")
            events.notify(.entryAccepted(entry), on: loop)
            return .accepted(entry)
        case .replayed(let entry): return .repeated(entry)
        case .keyReused: return .keyReused
        case .unknown: return message.keyUse == .heldByAnother ? .keyInUse : .notAccepted
        case .full(let fullness): return .full(fullness, limits)
        }
    }
}

/// The gateway's size limits for attachments, in bytes.
package struct AttachmentLimits: Sendable {
    package let picture: Int
    /// The limit for files; nil if the gateway takes only pictures.
    package let file: Int?

    /// Pictures of up to 5 MB are taken by every release, and so are safe before the first connection.
    package init(_ hello: Hello?, _ profile: GatewayProfile?) {
        guard let hello, profile?.takesFiles == true else {
            picture = 5_000_000
            file = nil
            return
        }
        picture = hello.policy.imageBytes ?? 6 << 20
        file = hello.policy.attachmentBytes ?? 20 << 20
    }
}
