import Basics

/// The streams of a connection by id. Streams are few and open in the order of their ids, so searching a sorted array
/// is faster than hashing.
struct StreamTable {
    private(set) var all: [StreamState] = []
    /// The stream of the last look-up: calls and callbacks mostly repeat the same stream.
    private var recent: StreamState?

    mutating func find(_ id: HTTP2StreamID) -> StreamState? {
        if let recent, recent.id == id { return recent }
        let place = place(of: id)
        guard place < all.count, all[place].id == id else { return nil }
        recent = all[place]
        return recent
    }

    mutating func insert(_ state: StreamState) {
        all.insert(state, at: place(of: state.id))
        recent = state
    }

    mutating func remove(_ id: HTTP2StreamID) -> StreamState? {
        let place = place(of: id)
        guard place < all.count, all[place].id == id else { return nil }
        if recent?.id == id { recent = nil }
        return all.remove(at: place)
    }

    /// The index of the stream with this id, or the index where it would be inserted.
    private func place(of id: HTTP2StreamID) -> Int {
        guard let last = all.last, id <= last.id else { return all.count }
        return all.partitioningIndex { $0.id >= id }
    }
}
