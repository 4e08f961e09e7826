import Access
import Basics
import EventLoops
import JSONBytes
import OpenAI
import Outbox
import Runs
import Server
import Service
import TLS

/// The answers of the OpenAI door: those in progress, and for a while those that are over, so that a repeated request joins the first one
/// instead of sending its message again. Their records on disk let this survive a restart.
final class OpenAIDoor {
    private static let keptMilliseconds: Int64 = 900_000
    private static let mostEndedBytes = 16 << 20

    unowned let api: HTTPAPI
    /// By the id of the entry.
    private var answers: [String: DoorAnswer] = [:]
    /// Entries by the digest of their request.
    private var requests: [String: String] = [:]
    /// Answers that are over, the oldest first, and when they may go.
    private var ended: [(id: String, until: UInt64, size: Int)] = []
    private var endedBytes = 0
    private var sweep: TimerID?
    /// Sessions by the names of their conversations; an empty one where two have the same turns.
    private var turns: [String: String] = [:]
    private static let mostTurns = 512

    init(_ api: HTTPAPI) { self.api = api }

    var settings: OpenAISettings { api.settings.openAI }
    private var rows: DoorRows { api.services.doorRows }

    // MARK: Answers

    func add(_ answer: DoorAnswer) {
        answers[answer.entry.id] = answer
        if let key = answer.requestKey { requests[key] = answer.entry.id }
    }

    /// The message was not accepted.
    func discard(_ answer: DoorAnswer) {
        answers[answer.entry.id] = nil
        if let key = answer.requestKey, requests[key] == answer.entry.id { requests[key] = nil }
    }

    func ended(_ answer: DoorAnswer, on loop: isolated EventLoop) {
        guard answers[answer.entry.id] === answer else { return }
        ended.append((answer.entry.id, loop.now + UInt64(Self.keptMilliseconds) * 1_000_000, answer.size))
        endedBytes += answer.size
        while endedBytes > Self.mostEndedBytes, ended.count > 1 { forgetOldest() }
        armSweep(on: loop)
    }

    private func forgetOldest() {
        let oldest = ended.removeFirst()
        endedBytes -= oldest.size
        if let answer = answers[oldest.id], !answer.isActive { discard(answer) }
    }

    private func armSweep(on loop: isolated EventLoop) {
        guard sweep == nil, let next = ended.first else { return }
        let wait = next.until > loop.now ? Int64((next.until - loop.now) / 1_000_000) + 1 : 1
        sweep = loop.after(milliseconds: wait) { [weak self] in
            guard let self else { return }
            self.sweep = nil
            while let first = self.ended.first, first.until <= loop.now { self.forgetOldest() }
            self.armSweep(on: loop)
        }
    }

    /// The answer to a message of this caller, in memory or from the disk; nil if there is none.
    /// - Parameter unkept: the record of a response that was not to be stored.
    func answer(
        of entry: String,
        owner: String,
        unkept: ResponseRecord? = nil,
        on loop: isolated EventLoop
    ) async throws(OpenAIError) -> DoorAnswer? {
        if let known = answers[entry] { return known.owner == owner ? known : nil }
        let kept = try await record(of: entry, on: loop)
        let record = kept ?? unkept
        let found: RunArchive.Found?
        do { found = try await api.services.runArchive.find(entry, on: loop) } catch {
            throw OpenAIError(.storage(error))
        }
        let read = try await loop.wait { api.services.outboxReader.read(entry, on: loop, completion: $0) }.stored()
        // Another request may have read it meanwhile.
        if let known = answers[entry] { return known.owner == owner ? known : nil }
        var saved = read?.0
        if saved == nil, case .run(let run)? = found {
            saved = OutboxEntry(
                id: entry,
                session: run.session.text,
                createdAt: record?.created ?? run.startedAt,
                expiresAt: run.startedAt
            )
        }
        guard let saved, (kept?.owner ?? saved.owner) == owner else { return nil }
        let answer = DoorAnswer(
            self,
            saved,
            owner: owner,
            record: record,
            isKept: kept != nil,
            startsRun: true,
            on: loop
        )
        answer.model = record?.model ?? answer.model
        add(answer)
        if case .run(let run)? = found, !run.state.isActive, run.continuedAs == nil {
            answer.open(ended: run, on: loop)
            await answer.settle(on: loop)
        } else {
            answer.listen(on: loop)
            answer.open(saved, isReplay: true, on: loop)
        }
        return answer
    }

    // MARK: Repeats

    /// The answer to an equal request of the last minutes.
    /// - Parameter unkept: makes the record of a response that was not to be stored, from the entry's id.
    func earlier(
        _ key: String,
        owner: String,
        unkept: (String) -> ResponseRecord?,
        on loop: isolated EventLoop
    ) async throws(OpenAIError) -> DoorAnswer? {
        if let known = requests[key].flatMap({ answers[$0] }) { return known.mayBeJoined ? known : nil }
        let saved: (bytes: [UInt8], at: Timestamp)?
        do {
            saved = try await rows.read(.requests, key, on: loop)
        } catch {
            throw OpenAIError(.storage(error))
        }
        if let known = requests[key].flatMap({ answers[$0] }) { return known.mayBeJoined ? known : nil }
        guard let saved, loop.wallClock.milliseconds - saved.at.milliseconds < Self.keptMilliseconds,
            let row = try? JSONDocument(parsing: saved.bytes).root, let entry = row["entry"]?.string,
            let answer = try await answer(of: entry, owner: owner, unkept: unkept(entry), on: loop), answer.mayBeJoined
        else { return nil }
        answer.requestKey = key
        answer.messageID = row["message"]?.string
        if row["delivered"]?.bool == true { answer.wasDelivered(at: saved.at) }
        requests[key] = entry
        return answer
    }

    static func row(of key: String, _ entry: String, message: String?, delivered: Bool = false) -> DoorRows.Row {
        var writer = JSONWriter()
        writer.object { object in
            object.member("entry", entry)
            object.member("message", message)
            object.member("delivered", delivered)
        }
        return DoorRows.Row(.requests, key, writer.bytes)
    }

    func delivered(_ answer: DoorAnswer, on loop: isolated EventLoop) {
        if let row = deliveryRow(of: answer) { rows.write([row], on: loop) }
    }

    private func deliveryRow(of answer: DoorAnswer) -> DoorRows.Row? {
        guard let key = answer.requestKey, requests[key] == answer.entry.id else { return nil }
        return Self.row(of: key, answer.entry.id, message: answer.messageID, delivered: true)
    }

    // MARK: Conversations

    /// The turns of a caller's conversation with an agent.
    struct Conversation {
        let digest: [UInt8]
        let agent: String
        let caller: String
        /// The session in which these turns are looked for; nil where they tell the session.
        var named: String?

        var name: String {
            Hex.encode(Digest.sha256(Array("turns\n\(caller)\n\(agent)\n\(named ?? "")\n".utf8) + digest))
        }

        func row(in session: String) -> DoorRows.Row { DoorRows.Row(.turns, name, Array(session.utf8)) }

        func with(answer: String) -> Conversation {
            var chain = TurnChain(after: digest) { Digest.sha256($0) }
            chain.add(OpenAIRequest.Turn(.assistant, answer))
            return Conversation(digest: chain.digest, agent: agent, caller: caller)
        }
    }

    /// The session that has these turns; nil if there is none, or more than one.
    func session(of conversation: Conversation, on loop: isolated EventLoop) async throws(OpenAIError) -> String? {
        let name = conversation.name
        if let known = turns[name] { return known.isEmpty ? nil : known }
        do {
            let saved = try await rows.read(.turns, name, on: loop)
            return saved.flatMap { $0.bytes.isEmpty ? nil : String(decoding: $0.bytes, as: UTF8.self) }
        } catch {
            throw OpenAIError(.storage(error))
        }
    }

    /// Notes the turns that the next request of this conversation will show. Where two conversations have had the same turns up to here, they
    /// tell neither: it may be another person's.
    /// - Parameter text: the answer as its client has it.
    func remember(_ answer: DoorAnswer, _ text: String, on loop: isolated EventLoop) {
        guard let told = answer.conversation?.with(answer: text) else {
            if answer.deliveredAt != nil { delivered(answer, on: loop) }
            return
        }
        let known = turns[told.name] ?? answer.session
        keep(told, in: known == answer.session ? known : "")
        var row = told.row(in: answer.session)
        row.yieldsToOther = true
        let delivery = answer.deliveredAt == nil ? nil : deliveryRow(of: answer)
        rows.write([row] + [delivery].compactMap(\.self), on: loop) { [weak self] kept in
            if let kept = kept?.first, kept != row.bytes { self?.keep(told, in: "") }
        }
    }

    /// Notes turns of a session whose row is on its way to disk.
    func keep(_ conversation: Conversation, in session: String) {
        if turns.count >= Self.mostTurns { turns = [:] }
        turns[conversation.name] = session
    }

    /// The agent did not get the message with which these turns end.
    func forget(_ sent: Conversation, on loop: isolated EventLoop) {
        keep(sent, in: "")
        rows.write([sent.row(in: "")], on: loop)
    }

    // MARK: Responses

    /// A response of this caller, by its id; chat completions have ids of their own form, and no record.
    func response(_ id: String, owner: String, on loop: isolated EventLoop) async throws(OpenAIError) -> DoorAnswer? {
        guard id.hasPrefix(SessionChoice.responsePrefix) else { return nil }
        let entry = String(id.dropFirst(SessionChoice.responsePrefix.count))
        let found = try await answer(of: entry, owner: owner, on: loop)
        return found?.isKept == true ? found : nil
    }

    private func record(of entry: String, on loop: isolated EventLoop) async throws(OpenAIError) -> ResponseRecord? {
        do {
            return try await rows.read(.responses, entry, on: loop).flatMap { ResponseRecord($0.bytes) }
        } catch {
            throw OpenAIError(.storage(error))
        }
    }

    func remove(_ answer: DoorAnswer, on loop: isolated EventLoop) async throws(OpenAIError) {
        do {
            try await rows.remove(.responses, answer.entry.id, on: loop)
        } catch {
            throw OpenAIError(.storage(error))
        }
        discard(answer)
    }
}

extension Result where Failure == any Error {
    fileprivate func stored() throws(OpenAIError) -> Success {
        switch self {
        case .success(let value): return value
        case .failure(let error): throw OpenAIError(.storage(error))
        }
    }
}
