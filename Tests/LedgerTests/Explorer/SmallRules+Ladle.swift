import Ledger

/// The steps of the small Ladle. It keeps facts, folds them with `Turn` and does what `Decision` says.
extension SmallRules {
    func turn(_ message: Int, in world: World) -> Turn { Turn(facts(message, in: world)) }

    func decision(_ message: Int, in world: World) -> Decision {
        Decision(turn(message, in: world).verdict, profile.traits)
    }

    // MARK: Facts

    private func facts(_ message: Int, in world: World) -> [Fact] {
        let own = world.messages[message]
        let keys = Set(own.sent.map(\.key))
        var facts: [Fact] = own.sent.map { .sent(key: $0.key % 10, contact: $0.contact + 1) }
        for (number, continuity) in world.contacts.enumerated() { facts.append(.contact(number + 1, continuity)) }
        for heard in world.heard { facts += fact(heard, keys) }
        if own.isStopped { facts.append(.will(.stop, number: 1)) }
        facts += own.stopsSent.map { .stopSent(key: $0.key % 10, contact: $0.contact + 1) }
        facts += own.waited.map { .waited(contact: $0 + 1) }
        if let told = own.told { facts.append(.told(told, number: 1)) }
        if let page = world.page, !own.sent.isEmpty { facts.append(.page(self.page(page, message, keys, in: world))) }
        return facts
    }

    private func fact(_ heard: World.Heard, _ keys: Set<Int>) -> [Fact] {
        func name(_ run: Int) -> Fact.RunName? {
            if keys.contains(run) { return .key(run % 10) }
            return profile.keysInRows && keys.contains(run - Gateway.ownID) ? .gateways : nil
        }
        switch heard.event {
        case .acknowledged(let key, let run) where keys.contains(key):
            return [.answered(key: key % 10, contact: heard.contact + 1, run == key ? .taken : .dropped)]
        case .remembered(let key) where keys.contains(key):
            return [.answered(key: key % 10, contact: heard.contact + 1, .remembered)]
        case .began(let run, _): return name(run).map { [.began($0)] } ?? []
        case .answered(let run): return name(run).map { [.ended($0, .answered)] } ?? []
        case .failed(let run) where keys.contains(run): return [.ended(.key(run % 10), .failed)]
        case .stopped(let run) where keys.contains(run): return [.stopAnswered(key: run % 10, stopped: true)]
        case .injected(let run) where keys.contains(run): return [.ended(.key(run % 10), .injected)]
        case .empty(let run) where keys.contains(run): return [.ended(.key(run % 10), .empty)]
        case .nothingToStop(let key) where keys.contains(key): return [.stopAnswered(key: key % 10, stopped: false)]
        default: return []
        }
    }

    private func page(_ page: World.Page, _ message: Int, _ keys: Set<Int>, in world: World) -> Fact.Page {
        let newest = world.messages[message].sent.map { ($0.key, $0.contact) }.max { $0 < $1 } ?? (0, 0)
        let runs = Set(keys.flatMap { [$0, Gateway.ownID + $0] })
        var knew: Fact.Knowledge = []
        let answers = world.heard.filter { heard in
            if case .acknowledged(let key, _) = heard.event {
                key == newest.0 && heard.contact == newest.1
            } else {
                false
            }
        }
        if !answers.isEmpty, answers.isSubset(of: page.known) { knew.insert(.answer) }
        if page.known.contains(where: { if case .stopped(let run) = $0.event { keys.contains(run) } else { false } }) {
            knew.insert(.stopped)
        }
        if page.known.contains(where: { $0.event == .nothingToStop(key: newest.0) }) { knew.insert(.nothingToStop) }
        let (rows, isShared) = rows(of: message, keys, on: page, in: world)
        let activity: Fact.Activity =
            page.activeRun.map { $0 == 0 ? .idle : runs.contains($0) ? .own : .other } ?? .unknown
        return Fact.Page(
            number: 1,
            contact: page.contact + 1,
            rows: rows,
            isShared: isShared,
            activity: activity,
            receipt: page.custody[newest.0],
            knew: knew
        )
    }

    // MARK: Whose rows

    private func rows(
        of message: Int,
        _ keys: Set<Int>,
        on page: World.Page,
        in world: World
    ) -> ([Fact.Row], isShared: Bool) {
        func row(_ row: World.Page.Row, _ tie: Tie) -> Fact.Row { Fact.Row("\(row.place)", tie, row.end.end) }
        func began(_ run: Int, _ place: Int) -> Bool {
            world.heard.contains(World.Heard(event: .began(run: run, row: place)))
        }
        var mine: [Fact.Row] = page.rows.compactMap { candidate in
            if keys.contains(candidate.key) { return row(candidate, .certain) }
            let isOwnRun = keys.contains { began($0, candidate.place) }
            let isOfGateway = profile.keysInRows && keys.contains { began(Gateway.ownID + $0, candidate.place) }
            return isOwnRun || isOfGateway ? row(candidate, .certain) : nil
        }
        guard mine.isEmpty, !profile.hasCustody else { return (mine, false) }
        let base = world.messages[message].sent.map(\.base).min() ?? 0
        var open = page.rows.filter { candidate in
            candidate.key == 0 && candidate.words == words[message] && candidate.place >= base
                && !world.heard.contains { heard in
                    guard case .began(let run, let place) = heard.event, place == candidate.place else { return false }
                    return run < Gateway.ownID && !keys.contains(run)
                }
        }
        let equal = (0..<own).filter { other in
            other != message && words[other] == words[message] && !world.messages[other].sent.isEmpty
        }
        let told = world.messages[message].told
        if isClosed(told) {
            open.removeAll { candidate in
                equal.contains { other in
                    other > message && candidate.place >= world.messages[other].sent.map(\.base).min() ?? 0
                }
            }
        }
        let isAway = told?.kind == .lost || told?.kind == .cancelled
        if isAway || turnIsAlwaysDropped(message, keys, in: world) { open = [] }
        guard let first = open.first else { return (mine, false) }
        if equal.contains(where: { !isClosed(world.messages[$0].told) }) { return ([], true) }
        mine.append(row(first, .likely))
        return (mine, false)
    }

    private func isClosed(_ told: Statement?) -> Bool { told.map { !$0.isOpen } ?? false }

    private func turnIsAlwaysDropped(_ message: Int, _ keys: Set<Int>, in world: World) -> Bool {
        let own = world.messages[message]
        let turn = Turn(
            own.sent.map { .sent(key: $0.key % 10, contact: $0.contact + 1) }
                + world.heard.flatMap { fact($0, keys) }
        )
        return turn.verdict.delivery == .dropped && turn.wasAlwaysDropped
    }

    // MARK: Steps

    /// Every step that the world may take.
    func steps(_ world: World) -> [Step] {
        var steps = gatewaySteps(world)
        let contact = world.contact
        if world.budget.ladleCrashes > 0, world.link != .down {
            var killed = world
            killed.budget.ladleCrashes -= 1
            killed.pipe = []
            killed.link = .down
            steps.append(Step(name: "Ladle is killed", world: killed))
        }
        if world.link != .down, !world.pipe.isEmpty {
            var hearing = world
            for event in world.pipe {
                hearing.heard.insert(World.Heard(event: event, contact: event.isOfContact ? contact : 0))
            }
            hearing.pipe = []
            steps.append(Step(name: "Ladle hears \(world.pipe)", world: hearing))
        }
        if world.link == .closing, world.pipe.isEmpty {
            var closed = world
            closed.link = .down
            steps.append(Step(name: "the link ends", world: closed))
        }
        if world.link == .down, world.gateway.isUp {
            var connected = world
            let identity = self.identity(world.gateway)
            let continuity: Continuity =
                identity != world.identity ? .other : profile.hasBootID ? .same : .either
            connected.link = .up
            connected.contacts.append(continuity)
            connected.identity = identity
            steps.append(Step(name: "Ladle connects to \(continuity)", world: connected))
        }
        for message in 0..<own {
            let state = world.messages[message]
            if world.budget.stops > 0, !state.isStopped, state.told == nil || state.told?.kind == .unknown {
                var stopped = world
                stopped.budget.stops -= 1
                stopped.messages[message].isStopped = true
                steps.append(Step(name: "a person stops \(message)", world: stopped))
            }
        }
        guard world.isReachable else { return steps }
        let page = read(world)
        if page != world.page, world.pipe.isEmpty {
            var knowing = world
            knowing.page = page
            steps.append(Step(name: "Ladle reads", world: knowing))
        }
        for message in 0..<own { steps += act(on: message, page, world) }
        return steps
    }

    func identity(_ gateway: Gateway) -> [Int] {
        profile.hasBootID ? [gateway.process, gateway.life] : [gateway.process]
    }

    private func act(on message: Int, _ page: World.Page, _ world: World) -> [Step] {
        let turn = turn(message, in: world)
        let verdict = turn.verdict
        let decision = Decision(verdict, profile.traits)
        let state = world.messages[message]
        let contact = world.contact
        var steps: [Step] = []
        if decision.next == .send, let known = world.page, known.contact == contact, isFree(message, in: world) {
            let base = (known.rows.map(\.place).max() ?? -1) + 1
            steps += frame("Ladle sends \(message)", message, message * 10 + 1, base: base, world)
        }
        guard let newest = state.sent.map(\.key).max() else { return steps }
        let base = state.sent.map(\.base).min() ?? 0
        let maySend = verdict.will == .run && decision.told == nil && state.told == nil
        var isPending = false
        if maySend, decision.next == .repeatKey {
            isPending = true
            steps += frame("Ladle repeats \(newest)", message, newest, base: base, world)
        }
        if maySend, decision.next == .newKey {
            isPending = true
            if newest % 10 < 3 { steps += frame("Ladle sends \(message) anew", message, newest + 1, base: base, world) }
        }
        if turn.awaitsStop, ![.answered, .failed, .turnedAway].contains(verdict.work), decision.told?.kind != .cancelled
        {
            var stopping = world
            stopping.messages[message].stopsSent.insert(World.Sent(key: newest, contact: contact, base: 0))
            for stopped in stop(stopping, message, newest) {
                steps.append(Step(name: "Ladle stops \(newest)", world: stopped))
            }
        }
        if !isPending, world.pipe.isEmpty, page == world.page, !state.waited.contains(contact),
            decision.told?.isOpen ?? true
        {
            var waited = world
            waited.messages[message].waited.insert(contact)
            steps.append(Step(name: "the bound of \(message) passes", world: waited))
        }
        return steps
    }

    /// Whether every earlier message of ours is settled, so that this one may go. A doubt does not block others without a bound.
    private func isFree(_ message: Int, in world: World) -> Bool {
        (0..<message).allSatisfy { message in
            guard let told = decision(message, in: world).told else { return false }
            let hasWaited = turn(message, in: world).verdict.marks.contains(.waited)
            return !told.isOpen || [.unknown, .completed].contains(told.kind) || hasWaited
        }
    }

    private func frame(_ name: String, _ message: Int, _ key: Int, base: Int, _ world: World) -> [Step] {
        var sending = world
        sending.messages[message].sent.insert(World.Sent(key: key, contact: world.contact, base: base))
        var steps = send(sending, message, key).map { Step(name: name, world: $0) }
        if world.budget.lostFrames > 0 {
            sending.budget.lostFrames -= 1
            sending.pipe = []
            sending.link = .down
            steps.append(Step(name: name + ", and the frame is lost", world: sending))
        }
        return steps
    }
}

extension SmallGateway.RowEnd {
    fileprivate var end: Fact.End? {
        switch self {
        case .none: nil
        case .answered: .answered
        case .failed: .failed
        case .stopped: .stopped
        case .injected: .injected
        }
    }
}

extension SmallGateway.Event {
    /// An answer counts for the contact over which it came.
    fileprivate var isOfContact: Bool {
        switch self {
        case .acknowledged, .remembered, .shutdown: true
        default: false
        }
    }
}
