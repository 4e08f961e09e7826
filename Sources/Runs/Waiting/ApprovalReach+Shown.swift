package import Gateway
import JSONBytes

extension ApprovalReach {
    /// One line for the person who decides.
    package var line: String {
        let place = target.map { " to \($0)" } ?? ""
        switch kind {
        case .messageSend:
            let count = recipientCount.map { $0 == 1 ? ", 1 recipient" : ", \($0) recipients" } ?? ""
            let names = recipients.isEmpty ? "" : " (\(recipients.joined(separator: ", ")))"
            return "sends a message\(place)\(count)\(names)\(audience.map { ", \($0)" } ?? "")"
        case .payment:
            return "pays \([amount, currency].compactMap(\.self).joined(separator: " "))\(place)"
        case .externalPost: return "posts\(place)\(visibility.map { ", \($0)" } ?? "")"
        case .standingGrant:
            let time = expiresInDays.map { $0 == 1 ? "for 1 day" : "for \($0) days" } ?? "without an end"
            return "lets \(automation ?? "an automation") run \(command ?? "it") from now on, \(time)"
        }
    }

    func write(to object: inout JSONWriter) {
        object.member("kind", kind.rawValue)
        object.member("target", target)
        object.member("recipientCount", recipientCount)
        if !recipients.isEmpty { object.array("recipients", of: recipients) }
        object.member("audience", audience)
        object.member("amount", amount)
        object.member("currency", currency)
        object.member("visibility", visibility)
        object.member("automation", automation)
        object.member("command", command)
        object.member("expiresInDays", expiresInDays)
        object.member("text", line)
    }
}
