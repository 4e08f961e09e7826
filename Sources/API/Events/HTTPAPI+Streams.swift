import Access
import Basics
package import EventLoops
import JSONBytes
import Runs
import Server
import Service
import Store

/// Streams: who may open one, and the events that only one stream gets.
extension HTTPAPI {
    /// The canonical form of a session's name in a request.
    func session(named text: String, _ field: String) throws(Problem) -> String {
        do throws(SessionKey.Problem) {
            return try runs.defaults.canonical(text).text
        } catch {
            throw .badParameter(field, "`\(field)` is a session key such as main or agent:main:main.")
        }
    }

    /// A stream over a limit is opened all the same, told why, and closed: clients give up for good on a status.
    func streamRefusal(for call: Call, now: Timestamp) -> String? {
        if isShuttingDown { return "shutting_down" }
        guard access.isCurrent(call.caller, now: now) else { return "token_revoked" }
        // Streams must leave room for the requests that share their connection.
        guard call.exchange.connection.openStreams < settings.streamsPerConnection else { return "too_many_streams" }
        let hasSlot = streamSlots.take(call.caller)
        if let limit = streamSlots.headers(for: call.caller) { call.exchange.state(limit) }
        return hasSlot ? nil : "too_many_streams"
    }

    func shutdownEvent(reason: String, retryMilliseconds: Int, on loop: isolated EventLoop) -> StreamEvent {
        .shutdown(reason: reason, retryMilliseconds: retryMilliseconds, at: loop.wallClock)
    }

    /// The text so far of each run that has not ended for the subscribers, once, after a resume.
    func activeTexts(on loop: isolated EventLoop) -> [StreamEvent] {
        (runs.active + runs.ending).compactMap { textSoFar(of: $0, on: loop) }
    }

    /// As far as it has been handed out: what is held back comes to everyone, and would come twice.
    private func textSoFar(of run: Run, on loop: isolated EventLoop) -> StreamEvent? {
        var text = run.text
        if let held = feed.firstHeld(of: run.id) {
            guard !held.replaces else { return nil }
            text = String(decoding: text.utf16.prefix(held.offset), as: UTF16.self)
        }
        guard !text.isEmpty else { return nil }
        let delta = StreamEvent.Delta(run: run.id, session: run.session.text, offset: 0, text: text, replaces: true)
        return StreamEvent(delta, at: loop.wallClock)
    }

    /// `summary`, then the runs under way with their steps and texts; none has an id.
    func snapshot(on loop: isolated EventLoop) -> [StreamEvent] {
        let runs = runs.active
        var events = [
            StreamEvent(transient: "summary", at: loop.wallClock) { object in
                object.member("active", runs.count)
                object.member("link", linkStatus)
            }
        ]
        for run in runs {
            events.append(
                StreamEvent(transient: "run.started", at: loop.wallClock, session: run.session.text, run: run.id) {
                    object in
                    object.key("run")
                    run.write(to: &object, includingSteps: false)
                }
            )
            for step in run.steps {
                events.append(
                    StreamEvent(transient: "run.step", at: loop.wallClock, session: run.session.text, run: run.id) {
                        object in
                        object.member("step", step)
                    }
                )
            }
            if let text = textSoFar(of: run, on: loop) { events.append(text) }
        }
        return events
    }

    /// Ends every stream; clients come back spread over some seconds instead of all at once.
    package func shutDownStreams(on loop: isolated EventLoop) {
        isShuttingDown = true
        endFollowers(on: loop)
        for poll in polls.values { poll.giveUp(on: loop) }
        frames.shutDown(on: loop)
        hub.end(
            with: { shutdownEvent(reason: "shutting_down", retryMilliseconds: .random(in: 1000...10_000), on: loop) },
            on: loop
        )
    }

    func statusReport(on loop: isolated EventLoop) -> StatusReport {
        StatusReport(
            version: settings.version,
            startedAt: startedAt,
            isDemo: settings.isDemo,
            link: linkStatus,
            outbox: outbox.summary(now: loop.wallClock),
            // Those of `/v1/activity`: with sends that wait for their turn.
            activeRuns: runs.activeCount,
            runsFault: runs.fault,
            first: feed.journal.oldest,
            last: hub.last,
            subscribers: hub.count,
            connections: settings.connections
        )
    }
}

extension StreamEvent {
    /// The last event of a stream: why, and when to come back.
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
