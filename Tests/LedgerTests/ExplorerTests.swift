import Testing

/// Every order of events in small worlds of each release. `Tests/Explore/run` goes deeper.
@Suite struct ExplorerTests {
    @Test(arguments: SmallGateway.Profile.all, Scenario.small)
    func `no order of events makes a false statement`(_ profile: SmallGateway.Profile, _ scenario: Scenario) {
        var explorer = Explorer(profile, scenario)
        let report = explorer.explore(most: 20_000)
        #expect(report.isWhole, "\(scenario.name): cut at \(report.states) states")
        #expect(report.faults.isEmpty)
        #expect(report.avoidableRepeats == 0)
    }
}
