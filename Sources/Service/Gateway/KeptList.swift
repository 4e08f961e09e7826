import Basics
import EventLoops
import JSONBytes
import Store

/// The gateway's last list of one kind, stored in the database for times without the gateway, even across a restart.
final class KeptList {
    private static let space = "gateway"

    private let name: String
    private let feed: EventFeed
    /// The list as last written.
    private var bytes: [UInt8] = []

    init(_ name: String, feed: EventFeed) {
        self.name = name
        self.feed = feed
    }

    /// Writes the list if it has changed; returns whether it has.
    @discardableResult
    func keep(now: Timestamp, _ write: (inout JSONWriter) -> Void) -> Bool {
        var writer = JSONWriter()
        writer.array { write(&$0) }
        let bytes = writer.bytes
        guard self.bytes != bytes else { return false }
        self.bytes = bytes
        feed.journal.cache(cost: bytes.count) { [name] transaction in
            try transaction.values.set(bytes, space: Self.space, name: name, at: now)
        }
        return true
    }

    /// - Parameters:
    ///   - row: one row; a row that cannot be read is left out.
    ///   - completion: gets the rows, and when the gateway listed them: nil if it never did.
    func read<Row>(
        on loop: isolated EventLoop,
        _ row: @escaping (JSONValue) -> Row?,
        completion: @escaping (Result<(rows: [Row], asOf: Timestamp?), ServiceFault>) -> Void
    ) {
        feed.read(on: loop) { [name] tables in
            try tables.values.get(space: Self.space, name: name)
        } completion: { result in
            switch result {
            case .success(let kept):
                let list = kept.flatMap { try? JSONDocument(parsing: $0.bytes).root }
                completion(.success((list?.elements.compactMap(row) ?? [], kept?.updatedAt)))
            case .failure(let error): completion(.failure(.store(error)))
            }
        }
    }
}
