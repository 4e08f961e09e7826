import Basics
package import EventLoops
import Gateway
package import Runs
import Store

/// Which approvals or questions a list shows.
package enum WaitingFilter: String, CaseIterable, Sendable {
    case pending, resolved, all
}

/// Finds approvals: in memory the pending and recently ended ones, in the database all others.
package final class ApprovalReader {
    package struct Query: Sendable {
        /// Nil means all sessions.
        package var sessions: [String?]
        package var filter: WaitingFilter
        /// Nil means every kind.
        package var kind: Approval.Kind?
        /// The last approval of the previous page.
        package var before: String?
        package var limit: Int

        package init(sessions: [String?], filter: WaitingFilter, kind: Approval.Kind?, before: String?, limit: Int) {
            self.sessions = sessions
            self.filter = filter
            self.kind = kind
            self.before = before
            self.limit = limit
        }

        fileprivate func admits(_ approval: Approval) -> Bool {
            (kind == nil || kind == approval.kind) && sessions.admit(approval.session)
        }
    }

    package struct Page {
        /// The approvals, newest first.
        package let approvals: [Approval]
        package let hasMore: Bool

        /// Takes as many as fit, but at least one.
        fileprivate init(_ all: [Approval], limit: Int, isMore: Bool = false) {
            var size = 0
            let fitting = all.prefix(limit).prefix { approval in
                defer { size += approval.byteCount }
                return size < ApprovalLimits.pageBytes
            }
            approvals = Array(fitting)
            hasMore = isMore || fitting.count < all.count
        }
    }

    private let feed: EventFeed
    private let approvals: ApprovalService

    init(feed: EventFeed, approvals: ApprovalService) {
        self.feed = feed
        self.approvals = approvals
    }

    /// Nil if there is none. An approval in memory is returned at once.
    package func find(_ id: String, on loop: isolated EventLoop) async throws -> Approval? {
        if let known = approvals.item(id, on: loop) { return known }
        let kept = try await feed.read(on: loop) { tables in
            try tables.approvals.approval(id: id).flatMap { Approval(kept: $0.body) }
        }
        // The approval may have been requested meanwhile.
        return approvals.item(id, on: loop) ?? kept
    }

    /// Nil if `before` is not an approval of these sessions.
    package func page(_ query: Query, on loop: isolated EventLoop) async throws -> Page? {
        guard query.filter != .pending else {
            var shown = approvals.waiting(on: loop).filter(query.admits)[...]
            if let before = query.before {
                guard let place = shown.firstIndex(where: { $0.id == before }) else { return nil }
                shown = shown[(place + 1)...]
            }
            return Page(Array(shown), limit: query.limit)
        }
        let known = query.before.flatMap { approvals.item($0, on: loop) }.flatMap { query.admits($0) ? $0 : nil }
        let (rows, before, last) = try await feed.read(on: loop) { tables -> ([Approval], Approval?, Approval?) in
            var before = known
            if before == nil, let id = query.before {
                before = try tables.approvals.approval(id: id).flatMap { Approval(kept: $0.body) }
                guard let found = before, query.admits(found) else { return ([], nil, nil) }
            }
            let place = before.map { RowPlace($0.createdAt, $0.id) }
            var rows: [Approval] = []
            // After the last row of a session that has more, the order of further approvals is unknown.
            var last: Approval?
            for session in query.sessions {
                let found = try tables.approvals.ended(
                    session: session,
                    kind: query.kind?.rawValue,
                    before: place,
                    limit: query.limit,
                    bytes: ApprovalLimits.pageBytes
                )
                let read = found.rows.compactMap { Approval(kept: $0.body) }
                rows += read
                guard found.isMore, let end = read.last else { continue }
                if last.map({ ($0.createdAt, $0.id) < (end.createdAt, end.id) }) ?? true { last = end }
            }
            return (rows, before, last)
        }
        guard query.before == nil || before != nil else { return nil }
        // Memory has approvals whose rows are still being written.
        var all = Dictionary(rows.map { ($0.id, $0) }) { first, _ in first }
        let waiting = query.filter == .resolved ? [] : approvals.waiting(on: loop)
        for approval in approvals.recent + waiting where query.admits(approval) {
            if let before, (approval.createdAt, approval.id) >= (before.createdAt, before.id) { continue }
            all[approval.id] = approval
        }
        var shown = all.values.sorted { ($0.createdAt, $0.id) > ($1.createdAt, $1.id) }
        if let last { shown.removeAll { ($0.createdAt, $0.id) < (last.createdAt, last.id) } }
        return Page(shown, limit: query.limit, isMore: last != nil)
    }
}
