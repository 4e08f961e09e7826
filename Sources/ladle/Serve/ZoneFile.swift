import Basics
import POSIX

/// The host's copy of the time zone database.
enum ZoneFile {
    /// In the order in which systems have them.
    private static let folders = ["/usr/share/zoneinfo", "/var/db/timezone/zoneinfo"]

    /// The name of the zone whose clocks this host shows.
    static var hostZone: String {
        if let name = Program.environment["TZ"], TimeZoneTable.isName(name), read(name) != nil { return name }
        // A link such as /usr/share/zoneinfo/Europe/Berlin, or with a path from /etc.
        let mark = "zoneinfo/"
        if let target = FileSystem.linkTarget("/etc/localtime"), let place = target.rangeOfText(mark) {
            let name = String(target[place.upperBound...])
            if TimeZoneTable.isName(name), read(name) != nil { return name }
        }
        return "UTC"
    }

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
