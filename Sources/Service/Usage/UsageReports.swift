package import Basics
package import EventLoops
package import Gateway
package import JSONBytes
import Ledger
import Runs

/// Tokens and cost by day and by session. The gateway reads transcripts to count them, so answers are cached.
package final class UsageReports {
    package enum Fault: Error {
        /// The connected gateway has no such report.
        case unsupported
        /// The gateway has the report, but not for a single agent.
        case allAgentsOnly
        case gateway(GatewayFault)
    }

    package struct SessionRow: Sendable, JSONWritable {
        /// The canonical session key.
        package let key: String
        fileprivate let row: SessionsUsage.Row

        /// In bytes, per text shown.
        private static let longestText = 512

        package func write(to writer: inout JSONWriter) {
            let model = row.model.map { id in row.modelProvider.map { "\($0)/\(id)" } ?? id }
            writer.object { object in
                object.member("key", key)
                object.member("label", row.label?.shown(bytes: Self.longestText))
                object.member("agent", row.agentId)
                object.member("channel", row.channel?.shown(bytes: Self.longestText))
                object.member("model", model)
                object.member("updatedAt", row.updatedAt)
                row.figures?.writeMembers(to: &object)
            }
        }
    }

    package struct SessionReport: Sendable {
        package let rows: [SessionRow]
        package let isComplete: Bool
    }

    private struct CostQuestion: Hashable {
        let period: UsagePeriod
        let agent: String?
    }

    private struct SessionQuestion: Hashable {
        let period: UsagePeriod
        let key: SessionKey?
        let limit: Int
    }

    package typealias Costs = KeptAnswer<UsageCost.Output>

    package static let mostSessions = GatewayLimits.usageSessions
    private static let lifeMs: Int64 = 300_000
    /// The life of an answer that the gateway is still counting.
    private static let unfinishedLifeMs: Int64 = 15_000
    private static let mostKept = 64

    private unowned let gateway: any GatewayCalls
    private let runs: RunService
    private let costs = AnswerCache<CostQuestion, UsageCost.Output>(most: mostKept) {
        $0.isComplete ? UsageReports.lifeMs : UsageReports.unfinishedLifeMs
    }
    private let sessions = AnswerCache<SessionQuestion, SessionReport>(most: mostKept) {
        $0.isComplete ? UsageReports.lifeMs : UsageReports.unfinishedLifeMs
    }
    /// The connected gateway refused a named time zone.
    private var refusesTimeZones = false
    /// The connected gateway refused the member for all agents, and counts only its default agent.
    private var refusesAllAgents = false

    init(gateway: any GatewayCalls, runs: RunService) {
        self.gateway = gateway
        self.runs = runs
    }

    func linkOpened() {
        costs.expire()
        sessions.expire()
        refusesTimeZones = false
        refusesAllAgents = false
    }

    private var lacksCost: Bool { gateway.profile?.offers(.usageCost) == false }
    private var namesAgents: Bool { gateway.profile?.offers(.usageAgents) ?? false }

    /// Whether the gateway itself counts days in the named zone.
    package func knowsZone(of period: UsagePeriod) -> Bool {
        period.zone != nil && !refusesTimeZones && gateway.profile?.countsInTimeZones == true
    }

    package func cost(
        _ period: UsagePeriod,
        agent: String?,
        on loop: isolated EventLoop
    ) async throws(Fault) -> Costs {
        guard !lacksCost else { throw .unsupported }
        guard agent == nil || gateway.hello == nil || namesAgents else { throw .allAgentsOnly }
        do {
            let question = CostQuestion(period: period, agent: agent)
            return try await costs.get(question, over: gateway, on: loop) { [self] () throws(CallFailure) in
                try await askCost(period, agent: agent, on: loop)
            }
        } catch {
            throw .gateway(error)
        }
    }

    /// The last report of these days and all agents, of any age.
    func latestCost(_ period: UsagePeriod) -> UsageCost.Output? {
        costs.latest(CostQuestion(period: period, agent: nil))?.value
    }

    private func askCost(
        _ period: UsagePeriod,
        agent: String?,
        on loop: isolated EventLoop
    ) async throws(CallFailure) -> UsageCost.Output {
        // Reading again is harmless; each try leaves out one more member.
        while true {
            let namesZone = knowsZone(of: period)
            let namesAll = namesAgents && agent == nil && !refusesAllAgents
            let call = UsageCost(
                dates: period.dates(namingZone: namesZone),
                agent: agent,
                namesAgents: namesAll || agent != nil
            )
            do throws(CallFailure) {
                return try await gateway.call(call, on: loop)
            } catch {
                guard namesZone || namesAll, case .gateway(let refusal, _) = error, refusal.refusesMember else {
                    throw error
                }
                if namesZone { refusesTimeZones = true } else { refusesAllAgents = true }
            }
        }
    }

    /// - Parameter only: nil for all sessions, of which the gateway returns the latest. A caller with a few sessions has one question at
    ///   the gateway at a time.
    package func sessions(
        _ period: UsagePeriod,
        only keys: SessionSet?,
        limit: Int,
        on loop: isolated EventLoop
    ) async throws(Fault) -> KeptAnswer<SessionReport> {
        // No hello lists the method; releases that have it also list this one.
        guard !lacksCost else { throw .unsupported }
        do {
            guard let keys else { return try await ask(period, key: nil, limit: limit, on: loop) }
            var found: [KeptAnswer<SessionReport>] = []
            for key in keys.texts.prefix(limit) { found.append(try await ask(period, key: key, limit: 1, on: loop)) }
            let report = SessionReport(
                rows: found.flatMap(\.value.rows),
                isComplete: found.allSatisfy(\.value.isComplete)
            )
            var answer = KeptAnswer(value: report, at: found.map(\.at).min() ?? loop.wallClock)
            answer.isLive = found.allSatisfy(\.isLive)
            return answer
        } catch {
            throw .gateway(error)
        }
    }

    private func ask(
        _ period: UsagePeriod,
        key: String?,
        limit: Int,
        on loop: isolated EventLoop
    ) async throws(GatewayFault) -> KeptAnswer<SessionReport> {
        let question = SessionQuestion(period: period, key: key.map { SessionKey(canonical: $0) }, limit: limit)
        return try await sessions.get(question, over: gateway, on: loop) { [gateway, runs] () throws(CallFailure) in
            let call = SessionsUsage(dates: period.dates(namingZone: false), key: key, limit: limit)
            let output = try await gateway.call(call, on: loop)
            let rows = output.rows.map { SessionRow(key: runs.canonical($0.key).text, row: $0) }
            return SessionReport(rows: rows, isComplete: output.isComplete)
        }
    }
}

extension Collection<UsageReports.SessionRow> {
    /// The sum over the sessions that the gateway has counted.
    package var totals: UsageFigures { compactMap(\.row.figures).reduce(UsageFigures(), +) }
}

extension UsageCost.Output {
    /// Writes the members into an open object.
    package func writeMembers(to writer: inout JSONWriter) {
        writer.array("days") { list in
            for day in days {
                list.object { row in
                    row.member("date", day.date.iso)
                    day.figures.writeMembers(to: &row)
                }
            }
        }
        writer.member("totals", totals)
        writer.member("complete", isComplete)
    }

    package var totals: UsageFigures { days.map(\.figures).reduce(UsageFigures(), +) }
}
