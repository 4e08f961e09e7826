import Basics

/// The title that the gateway makes from a session's first message.
enum DerivedTitle {
    private static let limit = 60

    static func of(_ session: DemoSession, _ release: DemoRelease) -> String {
        guard let first = session.rows.first(where: \.isUser) else {
            return "\(session.sessionID.prefix(8)) (\(moment(session.updatedAt).date))"
        }
        // Earlier releases put the time before the message, and count its length.
        let (date, weekday, time) = moment(first.timestamp)
        let whole = release < .june ? "[\(weekday) \(date) \(time) UTC] \(first.plainText)" : first.plainText
        guard whole.count > limit else { return whole }
        let cut = whole.prefix(limit - 1)
        return "\(cut.lastIndex(of: " ").map { cut[..<$0] } ?? cut)…"
    }

    private static func moment(_ milliseconds: Int64) -> (date: Substring, weekday: String, time: Substring) {
        // 2026-11-22T11:19:00.000Z
        let text = Timestamp(milliseconds: milliseconds).rfc3339
        let days = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"]
        let day = CivilDate.weekday(daysSinceEpoch: milliseconds / 86_400_000)
        return (text.prefix(10), days[day], text.dropFirst(11).prefix(5))
    }
}
