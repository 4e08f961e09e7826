import Ledger

/// The rules of one small world: its gateway's release, and the words of its messages. Message 2 is the other client's.
struct SmallRules: Sendable {
    typealias World = SmallWorld
    typealias Gateway = SmallGateway

    struct Step {
        var name: String
        var world: World
    }

    let profile: Gateway.Profile
    let words: [Character]
    let own: Int

    static let otherClient = 2

    // MARK: The gateway by itself

    private func next(_ world: inout World) {
        guard world.gateway.run == nil, !world.gateway.queue.isEmpty,
            !world.gateway.drains || profile.drain == .waits
        else { return }
        world.gateway.run = world.gateway.queue.removeFirst()
    }

    private func begin(_ before: World, _ run: Gateway.Run) -> World {
        var world = before
        let messages = run.messages + (profile.carriesWords ? world.gateway.carried : [])
        if profile.keysInRows {
            for place in world.gateway.rows.indices {
                let row = world.gateway.rows[place]
                if [.stopped, .failed].contains(row.end), !Set(row.messages).isDisjoint(with: world.gateway.carried) {
                    world.gateway.rows[place].isGone = true
                }
            }
        }
        world.gateway.rows.append(
            Gateway.Row(
                key: profile.keysInRows ? run.key : 0,
                words: words[run.messages[0]],
                messages: messages,
                run: run.id
            )
        )
        if world.gateway.custody[run.key] != nil { world.gateway.custody[run.key] = .consumed }
        world.gateway.run?.messages = messages
        world.gateway.run?.hasBegun = true
        world.gateway.carried = []
        world.execute(messages)
        world.emit(.began(run: run.id, row: world.gateway.rows.count - 1))
        return world
    }

    /// - Parameter tells: the one end under the message's own key has the answer.
    private func finish(_ before: World, _ run: Gateway.Run, _ end: Gateway.RowEnd, tells: Bool = true) -> World {
        var world = before
        for place in world.gateway.rows.indices
        where world.gateway.rows[place].run == run.id && world.gateway.rows[place].end == .none {
            world.gateway.rows[place].end = end
        }
        world.gateway.memory[run.key] = nil
        if run.key != 0 { world.gateway.memory[run.key] = end == .failed ? .failed : .done }
        world.gateway.run = nil
        if end == .answered {
            for message in run.messages { world.answered[message] = min(3, world.answered[message] + 1) }
        }
        let names = profile.endsOnce && run.key != 0 ? Set([run.id, run.key]) : [run.id]
        for name in names.sorted(by: >) {
            switch end {
            case .answered: world.emit(tells || name == run.id ? .answered(run: name) : .empty(run: name))
            case .failed: world.emit(.failed(run: name))
            default: world.emit(.stopped(run: name))
            }
        }
        next(&world)
        return world
    }

    func gatewaySteps(_ world: World) -> [Step] {
        let gateway = world.gateway
        guard gateway.isUp else {
            var started = world
            started.gateway.isUp = true
            return [Step(name: "the gateway starts", world: started)]
        }
        var steps: [Step] = []
        if let run = gateway.run {
            steps.append(
                run.hasBegun
                    ? Step(name: "the gateway answers \(run.id)", world: finish(world, run, .answered))
                    : Step(name: "the gateway begins \(run.id)", world: begin(world, run))
            )
            if run.hasBegun, profile.endsOnce, run.key != 0, run.id != run.key {
                let quiet = finish(world, run, .answered, tells: false)
                steps.append(Step(name: "the gateway answers \(run.id) and ends \(run.key) empty", world: quiet))
            }
        }
        if let resumable = gateway.resumes, gateway.run == nil { steps += resume(world, resumable) }
        if let late = gateway.late.first, gateway.run == nil, !gateway.drains {
            let id = Gateway.ownID + late.key
            var ran = world
            ran.gateway.rows.append(
                Gateway.Row(key: late.key, words: words[late.message], messages: [late.message], run: id)
            )
            ran.gateway.late = []
            ran.gateway.carried.removeAll { $0 == late.message }
            ran.gateway.run = Gateway.Run(id: id, key: 0, messages: [late.message], hasBegun: true)
            ran.execute([late.message])
            ran.emit(.began(run: id, row: ran.gateway.rows.count - 1))
            var forgot = world
            forgot.gateway.late = []
            steps.append(Step(name: "the gateway runs the stopped \(late.key)", world: ran))
            steps.append(Step(name: "the gateway lets the stopped be", world: forgot))
        }
        if gateway.drains, gateway.run == nil, gateway.queue.isEmpty || profile.drain == .refuses {
            for keeps in gateway.queue.isEmpty ? [false] : [false, true] {
                var restarted = world
                restarted.gateway.life += 1
                restarted.gateway.drains = false
                if !keeps { restarted.gateway.queue = [] }
                restarted.gateway.conflict = profile.refusesInOldSessions && !gateway.rows.isEmpty ? 1 : 0
                restarted.gateway.late = []
                next(&restarted)
                if restarted.link != .down { restarted.pipe.append(.shutdown) }
                if restarted.link == .up { restarted.link = .closing }
                steps.append(
                    Step(name: "the gateway restarts inside\(keeps ? ", with its queue" : "")", world: restarted)
                )
            }
        }
        if world.budget.crashes > 0 {
            var crashed = world
            crashed.budget.crashes -= 1
            crashed.pipe = []
            crashed.link = .down
            crashed.gateway.isUp = false
            crashed.gateway.process += 1
            crashed.gateway.life = 0
            crashed.gateway.drains = false
            crashed.gateway.memory = [:]
            crashed.gateway.queue = []
            crashed.gateway.run = nil
            if !profile.keysInRows { crashed.gateway.carried = [] }
            crashed.gateway.conflict = profile.refusesInOldSessions && !gateway.rows.isEmpty ? 1 : 0
            crashed.gateway.late = []
            crashed.gateway.custody = gateway.custody.mapValues { $0 == .queued ? .interrupted : $0 }
            crashed.gateway.resumes = nil
            if profile.traits.resumesRuns, let run = gateway.run, run.hasBegun,
                let row = gateway.rows.lastIndex(where: { $0.run == run.id })
            {
                crashed.gateway.resumes = Gateway.Resumable(row: row, run: run)
            }
            steps.append(Step(name: "the gateway is killed", world: crashed))
        }
        if world.budget.restartsInside > 0, profile.drain != .none, !gateway.drains {
            var draining = world
            draining.budget.restartsInside -= 1
            draining.gateway.drains = true
            steps.append(Step(name: "the gateway drains", world: draining))
        }
        if world.budget.otherClients > 0 {
            var sending = world
            sending.budget.otherClients = 0
            steps.append(
                Step(name: "another client sends", world: send(sending, Self.otherClient, Self.otherClient * 10 + 1)[0])
            )
        }
        return steps
    }

    private func resume(_ world: World, _ resumable: Gateway.Resumable) -> [Step] {
        let id = Gateway.ownID + resumable.run.id
        var resumed = world
        var place = resumable.row
        if profile.keysInRows {
            if !profile.hasCustody { resumed.gateway.rows[place].key = 0 }
            resumed.gateway.rows[place].run = id
            resumed.gateway.rows[place].end = .none
        } else {
            resumed.gateway.rows.append(Gateway.Row(key: 0, words: "!", messages: resumable.run.messages, run: id))
            place = resumed.gateway.rows.count - 1
        }
        resumed.gateway.resumes = nil
        resumed.gateway.run = Gateway.Run(id: id, key: 0, messages: resumable.run.messages, hasBegun: true)
        resumed.execute(resumable.run.messages)
        resumed.emit(.began(run: id, row: place))
        var left = world
        left.gateway.resumes = nil
        left.gateway.rows[resumable.row].end = profile.keysInRows ? .failed : .none
        return [
            Step(name: "the gateway resumes as \(id)", world: resumed),
            Step(name: "the gateway will not resume", world: left),
        ]
    }

    // MARK: The gateway's answers

    /// Every way in which the gateway may treat a message.
    func send(_ before: World, _ message: Int, _ key: Int) -> [World] {
        var world = before
        let isOurs = message != Self.otherClient
        func acknowledged(_ world: World, run: Int? = nil, _ event: Gateway.Event? = nil) -> World {
            var world = world
            if isOurs { world.emit(.acknowledged(key: key, run: run ?? key)) }
            if isOurs, let event { world.emit(event) }
            return world
        }
        if world.gateway.memory[key] != nil {
            world.emit(.remembered(key: key))
            return [world]
        }
        if profile.dropsEqualWords, let running = world.gateway.run, running.id < Gateway.ownID {
            for run in [running] + world.gateway.queue where words[run.messages[0]] == words[message] {
                return [acknowledged(world, run: run.key)]
            }
        }
        if profile.keysInRows, world.gateway.resumes?.run.key == key { world.gateway.resumes = nil }
        let unknowing = world
        world.gateway.memory[key] = .atWork
        if world.gateway.drains, profile.drain == .refuses {
            var done = world
            done.gateway.memory[key] = .done
            guard world.gateway.run != nil else { return [acknowledged(done, .injected(run: key))] }
            var kept = done
            kept.gateway.queue.append(Gateway.Run(id: Gateway.ownID + key, key: key, messages: [message]))
            return [acknowledged(done, .empty(run: key)), acknowledged(kept, .empty(run: key))]
        }
        var results: [World] = []
        if world.gateway.drains, profile.drain == .waits, world.gateway.run == nil, isOurs {
            // Written with the signal: its row stands, never run, and is read with the next message.
            var stale = unknowing
            stale.gateway.rows.append(
                Gateway.Row(key: key, words: words[message], messages: [message], end: .injected, run: key)
            )
            stale.gateway.carried.append(message)
            results.append(stale)
        }
        if world.gateway.conflict == 2 {
            return [0, 2].map { conflict in
                var refused = unknowing
                refused.gateway.rows.append(
                    Gateway.Row(key: key, words: words[message], messages: [message], end: .failed, run: key)
                )
                refused.gateway.carried.append(message)
                refused.gateway.conflict = conflict
                refused.gateway.memory[key] = .failed
                return acknowledged(refused, .failed(run: key))
            }
        }
        if world.gateway.conflict == 1 { world.gateway.conflict = 2 }
        if profile.hasCustody, !world.gateway.rows.isEmpty || world.gateway.custody[key] != nil {
            world.gateway.custody[key] = .queued
        }
        if world.gateway.run != nil || !world.gateway.queue.isEmpty {
            let id = profile.hasOwnIDs ? Gateway.ownID + key : key
            world.gateway.queue.append(Gateway.Run(id: id, key: key, messages: [message]))
            guard profile.hasOwnIDs, !profile.endsOnce else { return [acknowledged(world)] }
            world.gateway.memory[key] = .done
            return [acknowledged(world, .empty(run: key))]
        }
        world.gateway.run = Gateway.Run(id: key, key: key, messages: [message])
        return [acknowledged(world)] + results
    }

    /// Every way in which the gateway may treat a stop.
    func stop(_ before: World, _ message: Int, _ key: Int) -> [World] {
        var world = before
        if let run = world.gateway.run, run.key == key, run.hasBegun {
            if !profile.keysInRows, profile.carriesWords { world.gateway.carried.append(message) }
            return [finish(world, run, .stopped)]
        }
        if let run = world.gateway.run, run.key == key {
            world.gateway.run = nil
            world.gateway.memory[key] = .done
            switch profile.traits.earlyStop {
            case .asksModel:
                world.execute([message])
                world.emit(.stopped(run: key), .injected(run: key))
                next(&world)
                return [world]
            case .leavesRow:
                world.gateway.rows.append(
                    Gateway.Row(key: key, words: words[message], messages: [message], end: .stopped, run: key)
                )
                world.gateway.carried.append(message)
                var results: [World] = []
                for isLate in [false, true] {
                    for conflict in Set([world.gateway.conflict, 2]) {
                        var result = world
                        result.gateway.late = isLate ? [Gateway.Late(message: message, key: key)] : []
                        result.gateway.conflict = conflict
                        result.emit(.stopped(run: key), .empty(run: key))
                        next(&result)
                        results.append(result)
                    }
                }
                return results
            case .clean:
                if world.gateway.custody[key] != nil { world.gateway.custody[key] = .cancelled }
                world.emit(.stopped(run: key))
                next(&world)
                return [world]
            }
        }
        if let place = world.gateway.queue.firstIndex(where: { $0.key == key }) {
            switch profile.traits.queuedStop {
            case .runsAllTheSame:
                var other = world
                world.emit(.stopped(run: key))
                other.emit(.nothingToStop(key: key))
                return [world, other]
            case .clean:
                world.gateway.queue.remove(at: place)
                if world.gateway.custody[key] != nil { world.gateway.custody[key] = .cancelled }
                world.emit(.stopped(run: key))
                return [world]
            case .breaksTheRun:
                world.gateway.queue.remove(at: place)
                world.gateway.rows.append(
                    Gateway.Row(key: key, words: words[message], messages: [message], end: .stopped, run: key)
                )
                let running = world.gateway.run
                world.gateway.carried += [message] + (running?.hasBegun == true ? running?.messages ?? [] : [])
                world.emit(.stopped(run: key))
                guard let running, running.hasBegun else { return [world] }
                return [finish(world, running, .failed)]
            }
        }
        if profile.hasCustody, [.interrupted, .queued].contains(world.gateway.custody[key]) {
            world.gateway.custody[key] = .cancelled
            world.emit(.stopped(run: key))
            return [world]
        }
        world.emit(.nothingToStop(key: key))
        return [world]
    }

    func read(_ world: World) -> World.Page {
        let rows = world.gateway.rows.enumerated().compactMap { place, row in
            row.isGone ? nil : World.Page.Row(place: place, key: row.key, words: row.words, end: row.end)
        }
        let known = world.heard.filter {
            switch $0.event {
            case .began, .remembered, .shutdown: false
            default: true
            }
        }
        return World.Page(
            contact: world.contact,
            rows: rows,
            activeRun: profile.pagesNameActiveRun ? world.gateway.run?.id ?? 0 : nil,
            custody: profile.hasCustody ? world.gateway.custody : [:],
            known: known
        )
    }

    /// Whether the gateway will run the message, or has it, which nobody sees.
    func holds(_ message: Int, _ gateway: Gateway) -> Bool {
        let runs = [gateway.run].compactMap { $0 } + gateway.queue
        return runs.contains { $0.messages.contains(message) }
            || gateway.resumes?.run.messages.contains(message) == true || gateway.carried.contains(message)
            || gateway.late.contains { $0.message == message }
    }
}
