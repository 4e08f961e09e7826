import Basics
import POSIX

/// The host's copy of the time zone database.
enum ZoneFile {
    /// In the order in which systems have them.
    private static let folders = ["/usr/share/zoneinfo", "/var/db/timezone/zoneinfo"]

    /// Blocks. The name is one that `TimeZoneTable` allows, so that it leads nowhere else.
    static func read(_ name: String) -> [UInt8]? {
        for folder in folders {
            guard let file = try? FileSystem.read("\(folder)/\(name)", limit: TimeZoneTable.fileBytes), file.isWhole
            else {
                continue
            }
            return file.bytes
        }
        return nil
    }
}
