import Access
import Basics
import EventLoops
import HTTPModel
import JSONBytes
import Outbox
import Runs
import Server
import Service
import Store

/// `GET /v1/runs`, `GET /v1/runs/{id}` and `GET /v1/activity`.
enum RunOperations {
    private enum Shown {
        case live(Run)
        case stored(StoredRun, [[UInt8]])

        var id: String {
            switch self {
            case .live(let run): run.id
            case .stored(let row, _): row.id
            }
        }

        var startedAt: Timestamp {
            switch self {
            case .live(let run): run.startedAt
            case .stored(let row, _): row.startedAt
            }
        }

        var isActive: Bool {
            switch self {
            case .live(let run): run.state.isActive
            case .stored(let row, _): row.endedAt == nil
            }
        }
    }

    /// A page of stored runs with their steps.
    private struct Page: Sendable {
        var runs: [(row: StoredRun, steps: [[UInt8]])] = []
        /// The last run of the page before.
        var before: RunTable.Place?
        var isKnownPlace = true

        /// A row is written when a run begins and when it ends, a moment behind memory, which knows more between. Newest
        /// first.
        func shown(with recent: [Run]) -> [Shown] {
            var live = Dictionary(recent.map { ($0.id, $0) }) { first, _ in first }
            var shown = runs.map { row, steps in
                live.removeValue(forKey: row.id).map(Shown.live) ?? .stored(row, steps)
            }
            shown += live.values.filter { run in
                before.map { (run.startedAt, run.id) < ($0.at, $0.id) } ?? true
            }.map(Shown.live)
            return shown.sorted { ($0.startedAt, $0.id) > ($1.startedAt, $1.id) }
        }
    }

    static func list(_ api: HTTPAPI, _ call: Call, _ loop: isolated EventLoop) {
        do throws(Problem) {
            let limit = try call.number("limit", in: 1...200, default: 50)
            let sessions = try api.onlySessions(call)
            let before = call.text("before")
            let isActive = call.text("active") == nil ? nil : try call.flag("active")
            if isActive == true { return answerActive(api, call, sessions, before, limit, on: loop) }
            // What ends while the table is read may be in neither of the two.
            let known = api.recentRuns
            // One that waits for its turn has no row yet.
            let waiting = before.flatMap { api.runs.run($0) }.map { RunTable.Place($0.startedAt, $0.id) }
            let bound = LoopBound((api, call), on: loop)
            api.feed.journal.read { tables in
                let table = tables.runs
                var page = Page()
                if let before {
                    page.before = try table.run(id: before).map { RunTable.Place($0.startedAt, $0.id) } ?? waiting
                    page.isKnownPlace = page.before != nil
                }
                guard page.isKnownPlace else { return page }
                var rows: [StoredRun] = []
                for session in sessions {
                    rows += try table.list(session: session, before: page.before, limit: limit)
                }
                rows.sort { ($0.startedAt, $0.id) > ($1.startedAt, $1.id) }
                for row in rows.prefix(limit) {
                    page.runs.append((row, try table.steps(run: row.id)))
                }
                return page
            } completion: { [weak loop] result in
                loop?.post { loop in
                    guard let (api, call) = bound.value(on: loop) else { return }
                    switch result {
                    case .success(let page):
                        let recent = api.recentRuns + known.map { api.runs.run($0.id) ?? $0 }
                        let shown = page.shown(with: recent.filter { $0.isOf(sessions) })
                        answer(call, page, shown, limit, skipsActive: isActive == false, on: loop)
                    case .failure(let error): call.fail(.storage(error), on: loop)
                    }
                }
            }
        } catch {
            call.fail(error, on: loop)
        }
    }

    private static func answerActive(
        _ api: HTTPAPI,
        _ call: Call,
        _ sessions: [String?],
        _ before: String?,
        _ limit: Int,
        on loop: isolated EventLoop
    ) {
        var runs = api.runs.runs(activeOnly: true).filter { $0.isOf(sessions) }[...]
        if let before {
            guard let place = runs.firstIndex(where: { $0.id == before }) else {
                return call.fail(.noPlace("before", "run"), on: loop)
            }
            runs = runs[(place + 1)...]
        }
        let page = runs.prefix(limit)
        respond(call, before: page.count < runs.count ? page.last?.id : nil, on: loop) { list in
            for run in page { list.value(run) }
        }
    }

    private static func answer(
        _ call: Call,
        _ page: Page,
        _ shown: [Shown],
        _ limit: Int,
        skipsActive: Bool,
        on loop: isolated EventLoop
    ) {
        guard page.isKnownPlace else { return call.fail(.noPlace("before", "run"), on: loop) }
        let shown = shown.prefix(limit)
        respond(call, before: shown.count == limit ? shown.last?.id : nil, on: loop) { list in
            for one in shown where !(skipsActive && one.isActive) {
                switch one {
                case .live(let run): list.value(run)
                case .stored(let row, let steps): list.raw(row.json(steps: steps))
                }
            }
        }
    }

    private static func respond(
        _ call: Call,
        before: String?,
        on loop: isolated EventLoop,
        _ runs: (inout JSONWriter) -> Void
    ) {
        call.respondTagged(
            .json { writer in
                writer.object { object in
                    object.array("runs", runs)
                    object.member("before", before)
                }
            },
            on: loop
        )
    }

    // MARK: One

    static func get(_ api: HTTPAPI, _ call: Call, _ loop: isolated EventLoop) {
        api.findRun(call, on: loop) { found in
            switch found {
            case .live(let run):
                guard !call.wantsText else { return call.respond(.text(.ok, run.text + "\n"), on: loop) }
                call.respondTagged(.json(.ok, run), on: loop)
            case .stored(let row, let steps):
                guard !call.wantsText else {
                    let text = (try? JSONDocument(parsing: row.body).root["text"]?.string) ?? ""
                    return call.respond(.text(.ok, text + "\n"), on: loop)
                }
                call.respondTagged(.json { $0.raw(row.json(steps: steps)) }, on: loop)
            case .waiting(let entry): call.fail(.noRunYet(entry), on: loop)
            }
        }
    }

    // MARK: Now

    static func activity(_ api: HTTPAPI, _ call: Call, _ loop: isolated EventLoop) {
        let runs = api.runs.runs(activeOnly: true)
        let view = ActivityView(runs.filter { call.caller.mayUse(session: $0.session.text) })
        guard !call.wantsText else {
            let text = Response.text(.ok, view.plainText(now: loop.wallClock))
            return call.respondTagged(text.adding(.cacheControl, "no-cache"), on: loop)
        }
        call.respondTagged(.json(.ok, view).adding(.cacheControl, "no-cache"), on: loop)
    }
}

extension Run {
    fileprivate func isOf(_ sessions: [String?]) -> Bool { sessions.contains { $0 == nil || $0 == session.text } }
}

extension HTTPAPI {
    /// What the table of runs may not know yet, or know less of.
    fileprivate var recentRuns: [Run] { runs.runs(activeOnly: true) + runs.ending }
}

extension Problem {
    static let noRun = Problem(.runNotFound, "There is no such run.")

    static func noRunYet(_ entry: OutboxEntry) -> Problem {
        let detail = "The message is \(entry.state.rawValue) and has no run yet."
        return Problem(.runNotFound, detail, hint: "GET /v1/outbox/\(entry.id)")
    }
}
