package import Basics
import JSONBytes
package import Service

/// The texts so far of the runs that go on, as their events tell them: a stream that begins in the middle of an answer gets it first.
package struct RunningTexts {
    /// The most text that is kept. Beyond it the longest is left out: a stream that begins then gets it with the end of its run.
    private static let mostUnits = 16 << 20

    private struct Running {
        let session: String
        var text: String
        var units: Int
        let order: Int
        /// Pieces may have been missed since.
        var isTorn = false
    }

    private var runs: [String: Running] = [:]
    private var units = 0
    private var begun = 0

    package init() {}

    package mutating func note(_ event: StreamEvent) {
        if let delta = event.delta { return take(delta) }
        guard let run = event.run else { return }
        switch event.type {
        case "run.started" where runs[run] == nil:
            take(StreamEvent.Delta(run: run, session: event.session ?? "", offset: 0, text: "", replaces: true))
        case "run.ended": forget(run)
        default: break
        }
    }

    private mutating func take(_ delta: StreamEvent.Delta) {
        let added = delta.text.utf16.count
        let known = runs[delta.run]?.units ?? 0
        if delta.replaces || delta.offset == 0 {
            let order = runs[delta.run]?.order ?? begun
            begun += 1
            runs[delta.run] = Running(session: delta.session, text: delta.text, units: added, order: order)
            units += added - known
        } else if runs[delta.run] != nil, delta.offset == known {
            runs[delta.run]?.text += delta.text
            runs[delta.run]?.units += added
            units += added
        } else {
            // A piece is missing, so the text is not known.
            forget(delta.run)
        }
        while units > Self.mostUnits, let longest = runs.max(by: { $0.value.units < $1.value.units }) {
            forget(longest.key)
        }
    }

    /// The leader's stream broke: what it tells of these texts meanwhile is lost.
    package mutating func tear() {
        for run in runs.keys { runs[run]?.isTorn = true }
    }

    /// The whole text of a run that ended while pieces of it were missed: clients whose streams stayed open put pieces together, and
    /// do not know of it. A run that began and ended while the stream was broken comes without any.
    package func missed(by event: StreamEvent, at: Timestamp) -> [StreamEvent] {
        guard event.type == "run.ended", let id = event.run, let running = runs[id],
            running.isTorn || running.text.isEmpty,
            let text = (try? JSONDocument(parsing: event.data, limits: .gateway))?.root["run"]?["text"]?.string,
            text != running.text
        else { return [] }
        let delta = StreamEvent.Delta(run: id, session: running.session, offset: 0, text: text, replaces: true)
        return StreamEvent(delta, at: at).pieces
    }

    private mutating func forget(_ run: String) {
        if let gone = runs.removeValue(forKey: run) { units -= gone.units }
    }

    /// Each text whole, in place of what a client has of it. A client that comes from a host that was ahead has more than this one knows,
    /// which may be nothing.
    package func events(at: Timestamp) -> [StreamEvent] {
        runs.sorted { $0.value.order < $1.value.order }.flatMap { run, running in
            let delta = StreamEvent.Delta(
                run: run,
                session: running.session,
                offset: 0,
                text: running.text,
                replaces: true
            )
            return StreamEvent(delta, at: at).pieces
        }
    }
}
