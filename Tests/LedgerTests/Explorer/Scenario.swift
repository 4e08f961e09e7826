/// The messages of one exploration, and the faults that may happen in it.
struct Scenario: Sendable {
    var name: String
    /// Our messages; message 2 is the other client's.
    var own: Int
    var words: String
    /// The words of a row from before.
    var old: Character = "w"
    var budget: SmallWorld.Budget

    /// Small enough to be explored to their end within a second or two.
    static let small = [
        Scenario(name: "one", own: 1, words: "xyz", budget: .init(crashes: 1, ladleCrashes: 1, lostFrames: 1)),
        Scenario(name: "one stopped", own: 1, words: "xyz", budget: .init(crashes: 1, stops: 1)),
        Scenario(
            name: "one stopped, or lost",
            own: 1,
            words: "xyz",
            budget: .init(ladleCrashes: 1, lostFrames: 1, stops: 1)
        ),
        Scenario(name: "one and a restart inside", own: 1, words: "xyz", budget: .init(restartsInside: 1, stops: 1)),
        Scenario(name: "one behind a run", own: 1, words: "xyz", budget: .init(stops: 1, otherClients: 1)),
        Scenario(name: "two", own: 2, words: "xyz", budget: .init(crashes: 1)),
    ]

    static let large = [
        Scenario(
            name: "one, everything",
            own: 1,
            words: "xyx",
            budget: .init(crashes: 1, ladleCrashes: 1, stops: 1, otherClients: 1)
        ),
        Scenario(
            name: "two different",
            own: 2,
            words: "xyz",
            budget: .init(crashes: 2, ladleCrashes: 1, lostFrames: 1)
        ),
        Scenario(name: "two, one stopped", own: 2, words: "xyz", budget: .init(crashes: 1, ladleCrashes: 1, stops: 1)),
        Scenario(
            name: "equal words",
            own: 2,
            words: "xxz",
            old: "x",
            budget: .init(crashes: 1, ladleCrashes: 1, lostFrames: 1)
        ),
        Scenario(
            name: "another client's equal words",
            own: 1,
            words: "xyx",
            budget: .init(crashes: 1, ladleCrashes: 1, lostFrames: 1, stops: 1, otherClients: 1)
        ),
        Scenario(
            name: "busy",
            own: 2,
            words: "xyz",
            budget: .init(crashes: 1, ladleCrashes: 1, stops: 1, otherClients: 1)
        ),
        Scenario(
            name: "restarts inside",
            own: 2,
            words: "xyz",
            budget: .init(restartsInside: 1, ladleCrashes: 1, lostFrames: 1, otherClients: 1)
        ),
        Scenario(
            name: "mixed",
            own: 2,
            words: "xyz",
            budget: .init(crashes: 1, restartsInside: 1, ladleCrashes: 1, lostFrames: 1, stops: 1)
        ),
    ]
}
