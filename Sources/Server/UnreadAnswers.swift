/// The holder of an answer's memory until it is read.
package enum AnswerHolder: Hashable, Sendable {
    case owner
    /// A name that only this caller has.
    case caller(String)
}

/// Bytes of answers that wait for their clients, in all and for each holder. A client that takes a byte now and then keeps its answer for
/// as long as it likes, and no deadline ends that: so the memory is bounded. A quarter is the owner's alone, and one caller gets at most a
/// quarter.
struct UnreadAnswers {
    /// Bytes that a holder has taken; given back once.
    struct Share {
        let bytes: Int
        fileprivate let holder: AnswerHolder
    }

    /// Smaller answers are not counted. A connection has few of them.
    static let smallest = 4 << 10

    private let most: Int
    private(set) var bytes = 0
    private var shares: [AnswerHolder: Int] = [:]

    init(most: Int) {
        self.most = most
    }

    /// Nil if there is no room. A caller without any gets one answer of any size for which all callers together have room, and anybody one
    /// while nothing waits: it could never be sent otherwise.
    mutating func take(_ count: Int, for holder: AnswerHolder) -> Share? {
        guard bytes == 0 || hasRoom(for: count, of: holder) else { return nil }
        bytes += count
        shares[holder, default: 0] += count
        return Share(bytes: count, holder: holder)
    }

    private func hasRoom(for count: Int, of holder: AnswerHolder) -> Bool {
        guard holder != .owner else { return bytes + count <= most }
        let own = shares[holder, default: 0]
        let callers = bytes - shares[.owner, default: 0]
        return (own == 0 || own + count <= most / 4) && callers + count <= most / 4 * 3 && bytes + count <= most
    }

    mutating func giveBack(_ share: Share) {
        bytes -= share.bytes
        let own = shares[share.holder, default: 0] - share.bytes
        shares[share.holder] = own > 0 ? own : nil
    }
}
