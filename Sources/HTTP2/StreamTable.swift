/// The streams of a connection by id. They open in the order of their ids and are few, so that a sorted array finds one
/// sooner than its id is hashed.
struct StreamTable {
    private(set) var all: [StreamState] = []

    subscript(_ id: HTTP2StreamID) -> StreamState? {
        let place = place(of: id)
        return place < all.count && all[place].id == id ? all[place] : nil
    }

    mutating func insert(_ state: StreamState) {
        all.insert(state, at: place(of: state.id))
    }

    mutating func remove(_ id: HTTP2StreamID) -> StreamState? {
        let place = place(of: id)
        return place < all.count && all[place].id == id ? all.remove(at: place) : nil
    }

    /// Where it is, or would be.
    private func place(of id: HTTP2StreamID) -> Int {
        guard let last = all.last, id <= last.id else { return all.count }
        var low = 0
        var high = all.count - 1
        while low < high {
            let middle = (low + high) / 2
            if all[middle].id < id { low = middle + 1 } else { high = middle }
        }
        return low
    }
}
