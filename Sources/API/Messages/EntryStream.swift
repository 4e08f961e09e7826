import Access
import Basics
import EventLoops
import HTTPModel
import JSONBytes
import Outbox
import Runs
import Server
import Service

/// `POST /v1/messages` with `Accept: text/event-stream`: the events of this message and its run, up to the terminal
/// one.
final class EntryStream: OpenRequest, ExchangeOwner {
    private static let heartbeatMilliseconds: Int64 = 15_000

    private let api: HTTPAPI
    private let call: Call
    private var entry: OutboxEntry
    private let startsRun: Bool
    private var observer: UInt64?
    private var heartbeat: TimerID?
    /// Events received before the entry was known to be durable.
    private var early: [StreamEvent] = []
    private var isOpen = false
    private var holdsSlot = false
    /// The run whose start has been written.
    private var begunRun: String?

    init(_ api: HTTPAPI, _ call: Call, _ entry: OutboxEntry, startsRun: Bool) {
        self.api = api
        self.call = call
        self.entry = entry
        self.startsRun = startsRun
    }

    var entryID: String? { entry.id }
    var tokenID: String? { call.caller.tokenID }

    /// Starts before the commit, because the entry's event is published before the commit is reported here.
    func listen(on loop: isolated EventLoop) {
        observer = api.hub.observe { [weak self] event in
            guard let self, self.isMeant(event) else { return }
            if self.isOpen { self.write(event, on: loop) } else { self.early.append(event) }
        }
    }

    func cancel() {
        if let observer { api.hub.stopObserving(observer) }
        observer = nil
        early = []
    }

    func open(_ entry: OutboxEntry, isReplay: Bool, _ fields: EntryAnswer.Fields, on loop: isolated EventLoop) {
        self.entry = entry
        var head = ResponseHead(.ok, contentType: StreamFormat.eventStream.contentType)
        for field in fields { head.fields.append(field.name, field.value) }
        call.exchange.owner = self
        let refusal = api.streamRefusal(for: call, now: loop.wallClock)
        holdsSlot = refusal == nil
        api.beginStream(call, head, on: loop)
        guard call.exchange.isStreaming else { return stop(on: loop) }
        call.exchange.limitWaiting(to: api.hub.bufferLimit)
        isOpen = true
        api.open.add(self)
        if isReplay { writeState(on: loop) }
        let waiting = early
        early = []
        for event in waiting where isOpen { write(event, on: loop) }
        guard isOpen else { return }
        if let refusal {
            return end(reason: refusal, retryMilliseconds: 30_000, on: loop)
        }
        beat(on: loop)
    }

    // MARK: Types and filters

    private var runID: String { api.runs.run(answering: entry) }

    private func isMeant(_ event: StreamEvent) -> Bool {
        if event.type == "outbox" { return event.session?.isSameText(as: entry.session) ?? false && isOwn(event) }
        guard let run = event.run, event.type.hasPrefix("run.") || event.type == "message" else { return false }
        return run == runID
    }

    private func isOwn(_ event: StreamEvent) -> Bool {
        guard let told = try? JSONDocument(parsing: event.data).root["entry"] else { return false }
        guard told["id"]?.equals(entry.id) ?? false else { return false }
        // The gateway may answer a busy send with a run of its own id.
        if let run = told["runId"]?.string { entry.runID = run }
        entry.joinedRun = told["joinedRun"]?.string
        if let state = told["state"]?.string.flatMap(OutboxState.init(rawValue:)) { entry.state = state }
        return true
    }

    private func write(_ event: StreamEvent, on loop: isolated EventLoop) {
        if let run = event.run, event.type.hasPrefix("run."), run != begunRun {
            begunRun = run
            // The gateway began the run before Ladle knew that the run answers this message.
            if event.type != "run.started", let run = api.runs.run(run) {
                writeRun(run, on: loop)
                guard isOpen, run.state.isActive else { return }
            }
        }
        if event.type == "run.ended", let next = event.run.flatMap({ api.runs.run($0)?.continuedAs }) {
            return follow(next, on: loop)
        }
        switch call.exchange.write(StreamFormat.eventStream.encode(event), on: loop) {
        case .written, .waiting: break
        case .full, .gone:
            stop(on: loop)
            return call.exchange.abort(on: loop)
        }
        if event.type == "run.ended" { return end(on: loop) }
        let hasNoRun = entry.state == .delivered && (!startsRun || entry.joinedRun != nil)
        let isDone = EntryAnswer.failure(of: entry) != nil || hasNoRun
        if event.type == "outbox", isDone { end(on: loop) }
    }

    /// The gateway goes on with the run under another id, so the end of the former is not that of this stream.
    private func follow(_ next: String, on loop: isolated EventLoop) {
        entry.runID = next
        guard let run = api.runs.run(next), !run.state.isActive else { return }
        begunRun = next
        writeRun(run, on: loop)
    }

    /// A repeated request first gets the current state, as events without ids.
    private func writeState(on loop: isolated EventLoop) {
        let entry = entry
        write(
            StreamEvent(transient: "outbox", at: loop.wallClock, session: entry.session, run: entry.runID) {
                $0.member("entry", entry)
            },
            on: loop
        )
        guard isOpen else { return }
        guard let run = api.runs.run(runID) else { return writeStored(on: loop) }
        begunRun = run.id
        if let next = run.continuedAs { return follow(next, on: loop) }
        writeRun(run, on: loop)
    }

    /// The state of a run: its start and its text so far, or its end.
    private func writeRun(_ run: Run, on loop: isolated EventLoop) {
        let type = run.state.isActive ? "run.started" : "run.ended"
        write(
            StreamEvent(transient: type, at: loop.wallClock, session: entry.session, run: run.id) { object in
                object.key("run")
                run.write(to: &object, includingSteps: false)
            },
            on: loop
        )
        guard isOpen, !run.text.isEmpty else { return }
        let delta = StreamEvent.Delta(
            run: run.id,
            session: run.session.text,
            offset: 0,
            text: run.text,
            replaces: true
        )
        let pieces = StreamEvent(delta, at: loop.wallClock).pieces
        // The text so far comes in one go, and says nothing of how slow the reader is.
        call.exchange.limitWaiting(to: api.hub.bufferLimit + pieces.reduce(0) { $0 + $1.data.count })
        for piece in pieces where isOpen { write(piece, on: loop) }
    }

    private func writeStored(on loop: isolated EventLoop) {
        guard entry.state == .delivered || entry.state == .accepted else { return }
        api.services.runArchive.read(runID, on: loop) { [weak self] result in
            guard let self, self.isOpen else { return }
            switch result {
            case .success(let run?) where !run.state.isActive:
                if let next = run.continuedAs { return self.follow(next, on: loop) }
                self.writeRun(run, on: loop)
            case .success: break
            case .failure: self.end(reason: "store_unavailable", retryMilliseconds: 5000, on: loop)
            }
        }
    }

    // MARK: The end

    func peerLeft(_ exchange: Exchange, on loop: isolated EventLoop) { stop(on: loop) }
    func drained(_ exchange: Exchange, on loop: isolated EventLoop) {}

    func shutDown(reason: String, on loop: isolated EventLoop) {
        end(reason: reason, retryMilliseconds: .random(in: 1000...10_000), on: loop)
    }

    private func beat(on loop: isolated EventLoop) {
        heartbeat = loop.after(milliseconds: Self.heartbeatMilliseconds) { [weak self] in
            guard let self, self.isOpen else { return }
            _ = self.call.exchange.write(
                StreamFormat.eventStream.heartbeat(asEvent: false, at: loop.wallClock),
                on: loop
            )
            self.beat(on: loop)
        }
    }

    private func end(reason: String, retryMilliseconds: Int, on loop: isolated EventLoop) {
        write(.shutdown(reason: reason, retryMilliseconds: retryMilliseconds, at: loop.wallClock), on: loop)
        end(on: loop)
    }

    private func end(on loop: isolated EventLoop) {
        guard isOpen else { return }
        stop(on: loop)
        call.exchange.end(on: loop)
    }

    private func stop(on loop: isolated EventLoop) {
        isOpen = false
        cancel()
        if let heartbeat { loop.cancel(heartbeat) }
        heartbeat = nil
        if holdsSlot { api.open.releaseSlot(of: call.caller) }
        holdsSlot = false
        api.open.remove(self)
    }
}
