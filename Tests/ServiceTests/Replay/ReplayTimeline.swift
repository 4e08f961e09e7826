/// Relates the recording's time to the clock of a replay: while the replay waits for Ladle, the recording stands still.
struct ReplayTimeline: Sendable {
    private struct Stretch: Sendable {
        var clock: Int64
        var world: Int64
        var stands: Bool
    }

    private var stretches = [Stretch(clock: 0, world: 0, stands: false)]

    var stands: Bool { stretches[stretches.count - 1].stands }

    /// The recording's time at a time of the clock, both in milliseconds since their start.
    func world(at clock: Int64) -> Int64 {
        let stretch = stretches.last { $0.clock <= clock } ?? stretches[0]
        return stretch.stands ? stretch.world : stretch.world + clock - stretch.clock
    }

    /// The clock's time for a time of the recording.
    func clock(at world: Int64) -> Int64 {
        let stretch = stretches.last { !$0.stands && $0.world <= world } ?? stretches[0]
        return stretch.clock + world - stretch.world
    }

    mutating func stop(at clock: Int64) {
        guard !stands else { return }
        stretches.append(Stretch(clock: clock, world: world(at: clock), stands: true))
    }

    mutating func go(at clock: Int64) {
        guard stands else { return }
        stretches.append(Stretch(clock: clock, world: world(at: clock), stands: false))
    }
}
