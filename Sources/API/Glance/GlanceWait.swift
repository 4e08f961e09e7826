import Access
import EventLoops
import HTTPModel
import Outbox
import Server
import Service

/// One request for a glance. It is answered at once if the client has seen another version. Otherwise, with `?wait=N`,
/// it is answered when the shown data changes, or after N seconds with 304.
final class GlanceWait: OpenRequest, ExchangeOwner {
    private let api: HTTPAPI
    private let call: Call
    private let form: GlanceForm
    private var reader: GlanceService.Reader
    private var seconds = 0
    private var observer: UInt64?
    private var timer: TimerID?
    private var holdsSlot = false

    init(_ api: HTTPAPI, _ call: Call, _ form: GlanceForm) {
        self.api = api
        self.call = call
        self.form = form
        reader = api.services.glance.reader(of: call.caller.sessions, named: call.caller.identity)
    }

    func start(seconds: Int, on loop: isolated EventLoop) throws(Problem) {
        self.seconds = seconds
        let encoded = encoded(on: loop)
        guard isSeen(encoded.rev) else { return answer(encoded, on: loop) }
        guard seconds > 0, !api.isShuttingDown else { return unchanged(encoded, on: loop) }
        try wait(on: loop)
    }

    private func encoded(on loop: isolated EventLoop) -> GlanceEncoder.Encoded {
        api.services.glance.encoded(for: reader, as: form, on: loop)
    }

    /// Clients that cannot set headers name the version in the query.
    private func isSeen(_ rev: String) -> Bool {
        if call.text("rev") == rev { return true }
        guard let condition = call.head.fields.list(for: .ifNoneMatch),
            let tags = try? EntityTagCondition(parsing: condition[...], field: .ifNoneMatch)
        else { return false }
        return tags.matchesWeakly(EntityTag(rev))
    }

    // MARK: Waiting

    private func wait(on loop: isolated EventLoop) throws(Problem) {
        // A waiting request counts like an open stream.
        guard api.open.takeSlot(for: call) else { throw .tooManyStreams }
        holdsSlot = true
        observer = api.services.glance.observe(reader, on: loop) { [weak self] in self?.look(on: loop) }
        timer = loop.after(milliseconds: Int64(seconds) * 1000) { [weak self] in self?.giveUp(on: loop) }
        call.exchange.owner = self
        api.open.add(self)
        call.exchange.endWithPeer(on: loop)
    }

    /// Checks whether the change shows in this form.
    private func look(on loop: isolated EventLoop) {
        guard observer != nil else { return }
        let encoded = encoded(on: loop)
        guard !isSeen(encoded.rev) else { return }
        stop(on: loop)
        answer(encoded, on: loop)
    }

    private func giveUp(on loop: isolated EventLoop) {
        stop(on: loop)
        let encoded = encoded(on: loop)
        if isSeen(encoded.rev) { unchanged(encoded, on: loop) } else { answer(encoded, on: loop) }
    }

    private func stop(on loop: isolated EventLoop) {
        if holdsSlot { api.open.releaseSlot(of: call.caller) }
        holdsSlot = false
        if let observer { api.services.glance.stopObserving(observer) }
        observer = nil
        if let timer { loop.cancel(timer) }
        timer = nil
        call.exchange.owner = nil
        api.open.remove(self)
    }

    func shutDown(reason: String, on loop: isolated EventLoop) { giveUp(on: loop) }
    func peerLeft(_ exchange: Exchange, on loop: isolated EventLoop) { stop(on: loop) }
    func drained(_ exchange: Exchange, on loop: isolated EventLoop) {}

    // MARK: Answers

    private func response(_ encoded: GlanceEncoder.Encoded) -> Response {
        GlanceOperation.response(encoded, form, mayBeKept: seconds == 0)
    }

    private func answer(_ encoded: GlanceEncoder.Encoded, on loop: isolated EventLoop) {
        call.respond(response(encoded), tag: EntityTag(encoded.rev), on: loop)
    }

    private func unchanged(_ encoded: GlanceEncoder.Encoded, on loop: isolated EventLoop) {
        call.respond(response(encoded).unmodified.adding(.etag, EntityTag(encoded.rev).text), on: loop)
    }
}
