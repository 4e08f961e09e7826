import Ledger

/// Tries every order of events in a small world, breadth first, so that the first trace of a fault is a shortest one. A fault is a
/// statement that the hidden history refutes, work on a message after a final statement about it, a repeat of a message that the model
/// had although the evidence was there, or a message of which nothing is said once nothing more can happen.
struct Explorer {
    struct Report {
        var states = 0
        var depth = 0
        var isWhole = true
        /// The first trace of each kind of fault.
        var faults: [String: [String]] = [:]
        /// Repeats of a message that the model had, where the evidence told them apart from lost ones.
        var avoidableRepeats = 0
        /// States at rest whose evidence fits two histories.
        var undecidable = 0
    }

    let rules: SmallRules
    private var index: [SmallWorld: Int] = [:]
    private var worlds: [SmallWorld] = []
    private var parents: [(Int, String)] = []
    private var report = Report()
    private var repeats: [View: (had: Bool, lost: Bool)] = [:]
    private var ends: [View: Set<[Bool]>] = [:]

    /// All that Ladle knows.
    private struct View: Hashable {
        var message: Int
        var contacts: [Continuity]
        var heard: Set<SmallWorld.Heard>
        var page: SmallWorld.Page?
        var messages: [SmallWorld.Message]
    }

    init(_ profile: SmallGateway.Profile, _ scenario: Scenario) {
        rules = SmallRules(profile: profile, words: Array(scenario.words), own: scenario.own)
        var first = SmallWorld()
        first.gateway.rows = [
            SmallGateway.Row(
                key: profile.keysInRows ? 90 : 0,
                words: scenario.old,
                messages: [],
                end: .answered,
                run: 90
            )
        ]
        first.messages = Array(repeating: SmallWorld.Message(), count: scenario.own)
        first.identity = rules.identity(first.gateway)
        first.budget = scenario.budget
        first.page = rules.read(first)
        _ = add(first, from: 0, "")
    }

    private mutating func add(_ world: SmallWorld, from parent: Int, _ step: String) -> Bool {
        guard index[world] == nil else { return false }
        index[world] = worlds.count
        worlds.append(world)
        parents.append((parent, step))
        return true
    }

    /// - Parameter most: the number of states after which the exploration is cut.
    mutating func explore(most: Int) -> Report {
        var layer = 0..<1
        while !layer.isEmpty, report.isWhole {
            let next = worlds.count
            report.depth += 1
            for place in layer {
                let world = worlds[place]
                var isAtRest = true
                for step in rules.steps(world) {
                    let after = publish(step, at: place)
                    if after.budget == world.budget, after != world { isAtRest = false }
                    _ = add(after, from: place, step.name)
                }
                if isAtRest { judgeRest(world, at: place) }
                if worlds.count > most {
                    report.isWhole = false
                    break
                }
            }
            layer = next..<worlds.count
        }
        report.states = worlds.count
        report.avoidableRepeats = repeats.values.count { $0.had && !$0.lost }
        report.undecidable = ends.values.count { $0.count > 1 }
        return report
    }

    // MARK: Judging

    /// Tells what the table says after a step, and holds it against the hidden history.
    private mutating func publish(_ step: SmallRules.Step, at place: Int) -> SmallWorld {
        let before = worlds[place]
        var after = step.world
        for message in 0..<rules.own {
            noteRepeat(of: message, before, step)
            if after.executed[message] > before.executed[message], let told = before.messages[message].told,
                !told.isOpen, told.kind != .completed || !told.marks.contains(.byWords)
            {
                fault("ran after it was told as \(told.kind)", step.name, at: place)
            }
            guard let told = rules.decision(message, in: after).told, told != after.messages[message].told else {
                continue
            }
            judge(told, of: message, in: after, step.name, at: place)
            if let old = before.messages[message].told, old.kind != .unknown, old.marks.isEmpty, old.kind != told.kind {
                fault("\(old.kind) became \(told.kind)", step.name, at: place)
            }
            after.messages[message].told = told
        }
        return after
    }

    private mutating func judge(_ told: Statement, of message: Int, in world: SmallWorld, _ step: String, at place: Int)
    {
        let ran = world.executed[message] > 0
        let wasAnswered = world.answered[message] > 0
        let isFalse =
            switch told.kind {
            case .completed where told.marks.contains(.byWords):
                !rules.words.indices.contains { rules.words[$0] == rules.words[message] && world.answered[$0] > 0 }
            case .completed: !wasAnswered
            case .cancelled, .lost, .joined: ran
            case .interrupted:
                (wasAnswered && !told.marks.contains(.mayReturn)) || (!ran && !told.marks.contains(.byWords))
            case .failed, .aborted: wasAnswered && told.marks.isEmpty
            case .unknown: false
            }
        if isFalse { fault("told as \(told.kind) \(told.marks.rawValue), which is false", step, at: place) }
    }

    private mutating func judgeRest(_ world: SmallWorld, at place: Int) {
        for message in 0..<rules.own {
            if let told = world.messages[message].told {
                judge(told, of: message, in: world, "at rest", at: place)
            } else {
                fault("nothing is told at rest", "\(rules.decision(message, in: world))", at: place)
            }
            let history = [
                world.executed[message] > 0, world.answered[message] > 0, rules.holds(message, world.gateway),
            ]
            ends[view(message, world), default: []].insert(history)
        }
    }

    private mutating func noteRepeat(of message: Int, _ before: SmallWorld, _ step: SmallRules.Step) {
        let sent = before.messages[message].sent
        guard !sent.isEmpty, let frame = step.world.messages[message].sent.subtracting(sent).first,
            before.gateway.memory[frame.key] == nil
        else { return }
        let had = before.executed[message] > 0 || rules.holds(message, before.gateway)
        let known = repeats[view(message, before)] ?? (false, false)
        repeats[view(message, before)] = (known.had || had, known.lost || !had)
        if had, known.had == false, known.lost == false {
            report.faults["(repeat) \(frame.key)"] =
                report.faults["(repeat) \(frame.key)"] ?? trace(index[before] ?? 0) + [step.name]
        }
    }

    private func view(_ message: Int, _ world: SmallWorld) -> View {
        View(
            message: message,
            contacts: world.contacts,
            heard: world.heard,
            page: world.page,
            messages: world.messages
        )
    }

    private mutating func fault(_ kind: String, _ step: String, at place: Int) {
        let name = "\(rules.profile.name): \(kind)"
        if report.faults[name] == nil { report.faults[name] = trace(place) + [step] }
    }

    private func trace(_ place: Int) -> [String] {
        var (steps, place) = ([String](), place)
        while place > 0 {
            steps.append(parents[place].1)
            place = parents[place].0
        }
        return steps.reversed()
    }
}
