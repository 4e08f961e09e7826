import Basics
package import EventLoops
package import Runs
import Store

/// Finds approvals: in memory the pending and recently ended ones, in the database all others.
package final class ApprovalReader {
    package enum Filter: String, CaseIterable, Sendable {
        case pending, resolved, all
    }

    package struct Query: Sendable {
        /// Nil means all sessions.
        package var sessions: [String?]
        package var filter: Filter
        /// Nil means every kind.
        package var kind: Approval.Kind?
        /// The last approval of the previous page.
        package var before: String?
        package var limit: Int

        package init(sessions: [String?], filter: Filter, kind: Approval.Kind?, before: String?, limit: Int) {
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
    package func find(
        _ id: String,
        on loop: isolated EventLoop,
        completion: @escaping (Result<Approval?, any Error>) -> Void
    ) {
        if let known = approvals.approval(id, on: loop) { return completion(.success(known)) }
        feed.read(on: loop) { tables in
            try tables.approvals.approval(id: id).flatMap { Approval(kept: $0.body) }
        } completion: { [approvals] result in
            // The approval may have been requested meanwhile.
            completion(result.map { approvals.approval(id, on: loop) ?? $0 })
        }
    }

    /// Nil if `before` is not an approval of these sessions.
    package func page(
        _ query: Query,
        on loop: isolated EventLoop,
        completion: @escaping (Result<Page?, any Error>) -> Void
    ) {
        let waiting = query.filter == .resolved ? [] : approvals.waiting(on: loop).filter(query.admits)
        guard query.filter != .pending else {
            var shown = waiting[...]
            if let before = query.before {
                guard let place = shown.firstIndex(where: { $0.id == before }) else { return completion(.success(nil)) }
                shown = shown[(place + 1)...]
            }
            return completion(.success(Page(Array(shown), limit: query.limit)))
        }
        let known = query.before.flatMap { approvals.approval($0, on: loop) }.flatMap { query.admits($0) ? $0 : nil }
        feed.read(on: loop) { tables -> (rows: [Approval], before: Approval?, last: Approval?) in
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
        } completion: { [approvals] result in
            completion(
                result.map { rows, before, last in
                    guard query.before == nil || before != nil else { return nil }
                    // Memory has approvals whose rows are still being written.
                    var all = Dictionary(rows.map { ($0.id, $0) }) { first, _ in first }
                    let live = approvals.recent.filter(query.admits) + waiting
                    for approval in live {
                        if let before, (approval.createdAt, approval.id) >= (before.createdAt, before.id) { continue }
                        all[approval.id] = approval
                    }
                    var shown = all.values.sorted { ($0.createdAt, $0.id) > ($1.createdAt, $1.id) }
                    if let last { shown.removeAll { ($0.createdAt, $0.id) < (last.createdAt, last.id) } }
                    return Page(shown, limit: query.limit, isMore: last != nil)
                }
            )
        }
    }
}
