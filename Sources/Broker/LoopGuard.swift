package import Basics

/// Stops an automation that sends each reply back as a message: the same text to the same session more than three
/// times in a minute is refused for ten minutes. It keeps hashes, no texts.
package struct LoopGuard: Sendable {
    private struct Course {
        /// The last acceptances, oldest first.
        var accepted: [Int64] = []
        var refusedUntil: Int64?
    }

    private static let most = 3
    private static let window: Int64 = 60_000
    private static let pause: Int64 = 600_000
    /// The rate of commands admits some 1200 different courses in the time that one is kept.
    package static let capacity = 2048

    private var courses: [Int: Course] = [:]

    package init() {}

    package var count: Int { courses.count }

    /// Nil if the message may go. A repeat of one message by the broker is none: it has the same idempotency key.
    /// - Parameter session: nil is the main session.
    package mutating func admit(_ text: String, session: String?, now: Timestamp) -> BrokerRefusal? {
        let time = now.milliseconds
        var hasher = Hasher()
        for byte in (session ?? "main").utf8 { hasher.combine(byte) }
        hasher.combine(UInt8(0xFF))
        for byte in text.utf8 { hasher.combine(byte) }
        let name = hasher.finalize()
        var course = courses[name] ?? Course()
        // A clock that went back leaves times in the future, which say nothing.
        course.accepted.removeAll { time - $0 >= Self.window || $0 > time }
        if let until = course.refusedUntil, until <= time || until - time > Self.pause { course.refusedUntil = nil }
        if course.refusedUntil == nil, course.accepted.count >= Self.most { course.refusedUntil = time + Self.pause }
        if course.refusedUntil == nil { course.accepted.append(time) }
        if courses[name] == nil, courses.count >= Self.capacity { makeRoom(time) }
        courses[name] = course
        return course.refusedUntil == nil ? nil : .loopSuspected
    }

    private mutating func makeRoom(_ time: Int64) {
        courses = courses.filter { _, course in
            let isRecent = course.accepted.last.map { time - $0 < Self.window && $0 <= time } ?? false
            let isRefused = course.refusedUntil.map { $0 > time && $0 - time <= Self.pause } ?? false
            return isRecent || isRefused
        }
        guard courses.count >= Self.capacity else { return }
        // An eighth at once, so that a flood does not pay for this with each message. Refused courses go last.
        let byAge = courses.sorted { left, right in age(left.value) < age(right.value) }
        for (name, _) in byAge.prefix(Self.capacity / 8) { courses.removeValue(forKey: name) }
    }

    private func age(_ course: Course) -> Int64 { course.refusedUntil ?? course.accepted.last ?? .min }
}
