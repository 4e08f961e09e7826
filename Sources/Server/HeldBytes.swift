/// The holder of memory that the server keeps for a client.
package enum MemoryHolder: Hashable, Sendable {
    case owner
    /// A name that only this caller has.
    case caller(String)
}

/// Bytes that the server keeps for its clients, in all and for each holder: answers that wait to be read, or bodies of requests that are
/// not answered yet. A client that takes or sends a byte now and then keeps them for as long as it likes, and no deadline ends that: so
/// the memory is bounded. A quarter is the owner's alone, and one caller gets at most a quarter.
struct HeldBytes {
    /// Bytes that a holder has taken; given back once.
    struct Share {
        let bytes: Int
        fileprivate let holder: MemoryHolder
    }

    /// Smaller answers are not counted. A connection has few of them.
    static let smallestAnswer = 4 << 10
    /// Smaller bodies are not counted, so that an ordinary message costs nothing here.
    static let smallestBody = 64 << 10

    private let most: Int
    private(set) var bytes = 0
    private var shares: [MemoryHolder: Int] = [:]

    init(most: Int) {
        self.most = most
    }

    /// Nil if there is no room. A caller without any gets one share of any size for which all callers together have room, and anybody one
    /// while nothing else is held: it could never be served otherwise.
    mutating func take(_ count: Int, for holder: MemoryHolder) -> Share? {
        guard bytes == 0 || hasRoom(for: count, of: holder) else { return nil }
        bytes += count
        shares[holder, default: 0] += count
        return Share(bytes: count, holder: holder)
    }

    /// A larger share in place of the one before. False if there is no room; the one before stays.
    mutating func grow(_ share: inout Share?, to count: Int, for holder: MemoryHolder) -> Bool {
        guard let small = share else {
            share = take(count, for: holder)
            return share != nil
        }
        giveBack(small)
        if let large = take(count, for: small.holder) {
            share = large
            return true
        }
        bytes += small.bytes
        shares[small.holder, default: 0] += small.bytes
        return false
    }

    private func hasRoom(for count: Int, of holder: MemoryHolder) -> Bool {
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
