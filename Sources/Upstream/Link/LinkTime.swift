package import Basics

/// One instant on two clocks: monotonic for deadlines, wall time for display.
package struct LinkTime: Sendable, Equatable {
    package var milliseconds: Int64
    package var wall: Timestamp

    package init(milliseconds: Int64, wall: Timestamp) {
        self.milliseconds = milliseconds
        self.wall = wall
    }
}
