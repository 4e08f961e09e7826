/// Explores the small worlds of `Tests/LedgerTests/Explorer`: each until no state is new, or up to a number of states.
@main enum Explore {
    private struct FalseStatement: Error {}

    static func main() throws {
        let most = CommandLine.arguments.dropFirst().first.flatMap { Int($0) } ?? 100_000
        var isSound = true
        for profile in SmallGateway.Profile.all {
            for scenario in Scenario.small + Scenario.large {
                var explorer = Explorer(profile, scenario)
                let report = explorer.explore(most: most)
                let extent = report.isWhole ? "all" : "cut"
                print(
                    "\(profile.name) \(scenario.name): \(report.states) states, depth \(report.depth), \(extent);",
                    "faults \(report.faults.count), avoidable repeats \(report.avoidableRepeats),",
                    "undecidable \(report.undecidable)"
                )
                for (fault, trace) in report.faults.sorted(by: { $0.key < $1.key }) {
                    print("  \(fault): \(trace.joined(separator: " | "))")
                }
                if !report.faults.isEmpty || report.avoidableRepeats > 0 { isSound = false }
            }
        }
        print(isSound ? "explore: 1 passed, 0 failed" : "explore: 0 passed, 1 failed")
        if !isSound { throw FalseStatement() }
    }
}
