/// `859ms`, `3.7s`, `1m 23s`.
package enum DurationText {
    package static func of(milliseconds: Int64) -> String {
        let value = max(milliseconds, 0)
        if value < 1000 { return "\(value)ms" }
        if value < 60_000 {
            let tenths = min((value + 50) / 100, 599)
            return tenths % 10 == 0 ? "\(tenths / 10)s" : "\(tenths / 10).\(tenths % 10)s"
        }
        let seconds = value / 1000
        return seconds % 60 == 0 ? "\(seconds / 60)m" : "\(seconds / 60)m \(seconds % 60)s"
    }
}
