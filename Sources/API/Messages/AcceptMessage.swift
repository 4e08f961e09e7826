import Access
import Basics
import EventLoops
import HTTPModel
import JSONBytes
import Outbox
import Server
import Service
import Store
import TLS

/// One message on its way into the outbox, and the answer its sender asked for.
final class AcceptMessage {
    private let api: HTTPAPI
    private let call: Call
    private let request: MessageRequest
    private var fields: [(name: FieldName, value: String)] = []
    private var claim: ReceiptTable.Claim?
    private var stream: EntryStream?

    init(_ api: HTTPAPI, _ call: Call, _ request: MessageRequest) {
        self.api = api
        self.call = call
        self.request = request
    }

    func start(on loop: isolated EventLoop) throws(Problem) {
        guard call.caller.mayUse(session: request.session) else { throw Problem(.foreignSession) }
        try request.checkStopWord()
        guard !api.isShuttingDown else { throw .shuttingDown }
        try takeClaim()
        do throws(Problem) {
            try api.access.admitSend(call.exchange, by: call.caller, to: request.session, on: loop)
        } catch {
            release()
            throw error
        }
        commit(on: loop)
    }

    // MARK: Before the disk

    private func takeClaim() throws(Problem) {
        guard let key = request.key else { return }
        let claim = ReceiptTable.Claim(scope: "\(call.caller.label) POST /v1/messages", key: key.value, bodyHash: [])
        guard api.sendsUnderWay.insert(claim.name).inserted else {
            throw Problem(
                .idempotencyInFlight,
                "A request with this Idempotency-Key is just being written to disk.",
                field: "Idempotency-Key"
            )
        }
        self.claim = claim
    }

    private func release() {
        if let claim { api.sendsUnderWay.remove(claim.name) }
    }

    private func makeEntry(on loop: isolated EventLoop) -> OutboxEntry {
        let now = loop.wallClock
        let ttl = request.ttlMilliseconds ?? api.settings.outboxTTL
        return OutboxEntry(
            id: UUIDv7.make(milliseconds: now.milliseconds, random: SecureRandom.bytes(10)),
            session: request.session,
            text: request.text,
            createdAt: now,
            expiresAt: (request.notBefore ?? now).adding(milliseconds: ttl),
            notBefore: request.notBefore,
            owner: call.caller.tokenID,
            payloadBytes: request.text.utf8.count
        )
    }

    private func commit(on loop: isolated EventLoop) {
        let entry = makeEntry(on: loop)
        let limits = api.settings.outboxLimits
        let (request, body) = (request, claim == nil ? [] : call.exchange.body)
        // The same words to another session are another request.
        let meaning = Array("\(request.session)\n\(request.thinking ?? "")\n".utf8)
        let (claim, cost) = (claim, request.text.utf8.count + request.attachmentBytes + body.count + 1024)
        if call.answerType == .eventStream {
            stream = EntryStream(api, call, entry, startsRun: !request.isStopOrder)
            stream?.listen(on: loop)
        }
        api.feed.commit(cost: cost, on: loop) { transaction in
            // On the store's queue: a large message takes its time to go through.
            let payload = OutboxTable.Payload(text: request.text, body: request.extras)
            var claim = claim
            claim?.bodyHash = Digest.sha256(meaning + body)
            return try transaction.enqueue(
                entry,
                payload: payload,
                claim: claim,
                isReplayOnly: request.isLate,
                limits: limits
            )
        } completion: { [self] result in
            release()
            take(result, on: loop)
        }
    }

    // MARK: After it

    private func take(_ result: Result<Enqueuing, any Error>, on loop: isolated EventLoop) {
        switch result {
        case .success(.accepted(let entry)):
            KillPoint.reach("enqueue.committed")
            api.accepted(entry, on: loop)
            answer(entry, isReplay: false, on: loop)
        case .success(.replayed(let entry)):
            fields.append((.idempotencyReplayed, "true"))
            answer(entry, isReplay: true, on: loop)
        case .success(.keyReused): refuse(keyReused, on: loop)
        case .success(.unknown): refuse(.late(loop.wallClock), on: loop)
        case .success(.full(let what)): refuse(.outboxFull(what, api.settings.outboxLimits), on: loop)
        case .failure(let error): refuse(.storage(error), on: loop)
        }
    }

    private var keyReused: Problem {
        let detail = "This Idempotency-Key came with another message in the last 24 hours."
        return Problem(.idempotencyKeyReused, detail, field: "Idempotency-Key")
    }

    private func refuse(_ problem: Problem, on loop: isolated EventLoop) {
        stream?.cancel()
        call.fail(problem, on: loop)
    }

    private func answer(_ entry: OutboxEntry, isReplay: Bool, on loop: isolated EventLoop) {
        call.subject = entry.id
        // However long the answer may take: it is in the outbox now.
        call.settle(.accepted, on: loop)
        fields.append((.location, "/v1/outbox/\(entry.id)"))
        if let stream { return stream.open(entry, isReplay: isReplay, fields, on: loop) }
        guard let seconds = request.waitSeconds, seconds > 0 else {
            return call.respond(EntryAnswer.accepted(entry, call, api, fields), on: loop)
        }
        if request.wasPreferred { fields.append((.preferenceApplied, "wait=\(seconds)")) }
        EntryWait(api, call, entry, fields, startsRun: !request.isStopOrder).start(seconds: seconds, on: loop)
    }
}

extension Problem {
    static func outboxFull(_ what: OutboxTable.Fullness, _ limits: OutboxTable.Limits) -> Problem {
        let detail =
            switch what {
            case .entries: "\(limits.entries) entries wait already (outbox.maxEntries)."
            case .session: "\(limits.perSession) entries of this session wait already (outbox.maxPerSession)."
            case .bytes:
                "Waiting texts and attachments take \(limits.payloadBytes) bytes already (outbox.maxAttachmentBytes)."
            }
        return Problem(.outboxFull, detail)
    }
}

extension ReceiptTable.Claim {
    var name: String { "\(scope)\n\(key)" }
}
