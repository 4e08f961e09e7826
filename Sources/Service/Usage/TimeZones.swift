package import Basics
package import EventLoops

/// Time zones by name. Each zone file is read once, off the loop.
package final class TimeZones {
    /// Reads the file of a zone, on any thread; nil if there is none.
    package typealias Reader = @Sendable (_ name: String, _ completion: @escaping @Sendable ([UInt8]?) -> Void) -> Void

    /// A household uses a handful of zones; a client that asks for all of them costs file reads.
    private static let mostKept = 64

    private let read: Reader
    private var kept: [String: TimeZoneTable] = ["UTC": .utc]

    init(_ read: @escaping Reader) { self.read = read }

    /// Nil for a zone that this host does not have.
    package func find(_ name: String, on loop: isolated EventLoop) async -> TimeZoneTable? {
        if let zone = kept[name] { return zone }
        guard TimeZoneTable.isName(name) else { return nil }
        let bytes: [UInt8]? = await loop.wait { completion in
            let completion = LoopBound(completion, on: loop)
            read(name) { [weak loop] bytes in
                loop?.post { loop in completion.value(on: loop)?(bytes) }
            }
        }
        let zone = bytes.flatMap { TimeZoneTable(parsing: $0) }
        if let zone { keep(zone, as: name) }
        return zone
    }

    private func keep(_ zone: TimeZoneTable, as name: String) {
        if kept.count >= Self.mostKept { kept = ["UTC": .utc] }
        kept[name] = zone
    }
}
