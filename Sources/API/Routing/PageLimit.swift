import Server

/// Starts few pages at a time for one connection, and none while its peer is slow to read. A client that asks for a
/// hundred pages over HTTP/2 waits only for itself: the store's reader serves others in between, and memory stays
/// small.
struct PageLimit {
    /// Enough to read one page, encode another and send a third at the same time.
    private static let most = 4
    /// Milliseconds between two checks of a connection whose peer was behind.
    static let patience: Int64 = 20

    /// Waiting pages, by connection. An entry, even an empty one, means that the connection is being polled.
    private var waiting: [ObjectIdentifier: [Call]] = [:]

    enum Turn {
        case now
        /// The page waits for `next`; a connection that is not polled yet must be.
        case later(isWatched: Bool)
    }

    mutating func turn(of call: Call) -> Turn {
        let key = ObjectIdentifier(call.exchange.connection)
        let isWatched = waiting[key] != nil
        if !hasWaiting(call.exchange.connection), mayBegin(call) {
            open(call)
            return .now
        }
        waiting[key, default: []].append(call)
        return .later(isWatched: isWatched)
    }

    /// True if other pages wait.
    mutating func end(_ call: Call) -> Bool {
        call.isOpenPage = false
        call.exchange.connection.openPages -= 1
        return hasWaiting(call.exchange.connection)
    }

    /// The next page to serve; pages of clients that left are skipped.
    mutating func next(of connection: ConnectionInfo) -> Call? {
        let key = ObjectIdentifier(connection)
        while let call = waiting[key]?.first {
            guard !call.exchange.isOpen || mayBegin(call) else { return nil }
            waiting[key]?.removeFirst()
            if call.exchange.isOpen {
                open(call)
                return call
            }
        }
        return nil
    }

    /// True, and the connection is forgotten, if no page waits.
    mutating func isOver(_ connection: ConnectionInfo) -> Bool {
        if hasWaiting(connection) { return false }
        waiting[ObjectIdentifier(connection)] = nil
        return true
    }

    private func hasWaiting(_ connection: ConnectionInfo) -> Bool {
        waiting[ObjectIdentifier(connection)]?.isEmpty == false
    }

    private func mayBegin(_ call: Call) -> Bool {
        call.exchange.connection.openPages < Self.most && !call.exchange.isBehind
    }

    private func open(_ call: Call) {
        call.exchange.connection.openPages += 1
        call.isOpenPage = true
    }
}
