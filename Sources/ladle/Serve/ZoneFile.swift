import Basics
import POSIX

/// The host's copy of the time zone database.
enum ZoneFile {
    /// The folders of Linux and of macOS.
    private static let folders = ["/usr/share/zoneinfo", "/var/db/timezone/zoneinfo"]

    /// The name of the zone whose clocks this host shows.
    static var hostZone: String {
        if let name = Program.environment["TZ"], TimeZoneTable.isName(name), read(name) != nil { return name }
        // The link's target is /usr/share/zoneinfo/Europe/Berlin, for example, or a path relative to /etc.
        let mark = "zoneinfo/"
        if let target = FileSystem.linkTarget("/etc/localtime"), let place = target.rangeOfText(mark) {
            let name = String(target[place.upperBound...])
            if TimeZoneTable.isName(name), read(name) != nil { return name }
        }
        return "UTC"
    }

    /// Blocks on the disk. `TimeZoneTable` allows only names that do not lead out of the folder.
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
