import Basics
import JSONBytes
import Ledger
import Store

/// The gateway's process, kept over restarts of Ladle.
extension GatewayProcess {
    private static let space = "gateway"
    private static let name = "process"

    static func kept(in tables: StoreTables) throws -> GatewayProcess? {
        let value = try tables.values.get(space: space, name: name)
        let root = value.flatMap { try? JSONDocument(parsing: $0.bytes).root }
        let startedAt = root?["startedAt"]?.int.map { Timestamp(milliseconds: $0) }
        var own: OwnTime?
        if let startedMs = root?["startedMs"]?.int, let epoch = root?["epoch"]?.string {
            own = OwnTime(startedMs: startedMs, epoch: epoch, openingMs: root?["openingMs"]?.int)
        }
        return root.map { GatewayProcess(bootID: $0["bootId"]?.string, startedAt: startedAt, own: own) }
    }

    func keep(in journal: any Journal, now: Timestamp) {
        var writer = JSONWriter()
        writer.object { object in
            object.member("startedAt", startedAt?.milliseconds)
            object.member("bootId", bootID)
            // Without an epoch the next process of Ladle could not tell what the time counts from.
            guard let own, let epoch = own.epoch else { return }
            object.member("startedMs", own.startedMs)
            object.member("epoch", epoch)
            object.member("openingMs", own.openingMs)
        }
        let bytes = writer.bytes
        journal.cache { transaction in
            try transaction.values.set(bytes, space: Self.space, name: Self.name, at: now)
        }
    }
}
