import Access
import Basics
import JSONBytes
import Runs
import Service

/// The current state, as events without ids for one stream.
struct StreamSnapshot {
    private let services: Services
    private let at: Timestamp

    init(_ services: Services, at: Timestamp) {
        self.services = services
        self.at = at
    }

    /// `summary`, then the active runs with their steps. Their texts come last of what a stream begins with: `activeTexts`.
    /// The summary counts only runs that the caller may see.
    func events(for caller: Caller) -> [StreamEvent] {
        let view = services.activity(for: caller)
        var events = [
            StreamEvent(transient: "summary", at: at) { object in
                object.member("active", view.runs.count)
                object.member("headline", view.headline)
                object.member("approvals", view.approvals)
                object.member("link", services.gateway.status.shown(to: caller))
            }
        ]
        for run in services.runs.active {
            let session = run.session.text
            events.append(
                StreamEvent(transient: "run.started", at: at, session: session, run: run.id) { object in
                    object.key("run")
                    run.write(to: &object, includingSteps: false)
                }
            )
            for step in run.steps {
                events.append(
                    StreamEvent(transient: "run.step", at: at, session: session, run: run.id) { object in
                        object.member("step", step)
                    }
                )
            }
        }
        return events
    }

    /// The text so far of each run that has not ended for the subscribers.
    var activeTexts: [StreamEvent] {
        (services.runs.active + services.runs.ending).flatMap(textSoFar)
    }

    /// The text up to the last published piece: held-back text will be published to everyone, and would arrive twice.
    private func textSoFar(of run: Run) -> [StreamEvent] {
        var text = run.text
        if let held = services.feed.firstHeld(of: run.id) {
            guard !held.replaces else { return [] }
            text = String(decoding: text.utf16.prefix(held.offset), as: UTF16.self)
        }
        let delta = StreamEvent.Delta(run: run.id, session: run.session.text, offset: 0, text: text, replaces: true)
        return StreamEvent(delta, at: at).pieces
    }
}

extension StreamEvent {
    /// The last event of a stream: the reason, and the time to reconnect.
    static func shutdown(reason: String, retryMilliseconds: Int, at: Timestamp) -> StreamEvent {
        var writer = JSONWriter()
        writer.object { object in
            object.member("type", "shutdown")
            object.member("at", at)
            object.member("reason", reason)
            object.member("retry", retryMilliseconds)
        }
        return StreamEvent(type: "shutdown", data: writer.bytes, retry: retryMilliseconds)
    }
}
