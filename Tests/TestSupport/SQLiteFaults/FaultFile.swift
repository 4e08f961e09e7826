import CSQLite

/// One open file of a `FaultFileSystem`. SQLite's memory for it holds our header first and the real file behind that.
@safe
final class FaultFile {
    /// Room for `sqlite3_file` and a pointer, on the alignment the real object needs.
    static let headerSize: Int32 = 32

    let path: String
    let system: FaultFileSystem
    private let real: UnsafeMutablePointer<sqlite3_file>

    init(path: String, system: FaultFileSystem, real: UnsafeMutablePointer<sqlite3_file>) {
        self.path = path
        self.system = system
        unsafe self.real = real
    }

    /// The real file and its methods, to which the callbacks forward.
    var methods: sqlite3_io_methods? { unsafe real.pointee.pMethods?.pointee }
    var file: UnsafeMutablePointer<sqlite3_file> { unsafe real }

    var size: Int64 {
        var size: Int64 = 0
        _ = unsafe methods?.xFileSize(real, &size)
        return size
    }

    func read(_ offset: Int64, _ count: Int) -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: count)
        _ = unsafe bytes.withUnsafeMutableBytes { unsafe methods?.xRead(real, $0.baseAddress, Int32($0.count), offset) }
        return bytes
    }

    func write(_ bytes: [UInt8], at offset: Int64) -> Int32 {
        guard !bytes.isEmpty else { return SQLITE_OK }
        return unsafe bytes.withUnsafeBytes { bytes in
            unsafe methods?.xWrite(real, bytes.baseAddress, Int32(bytes.count), offset) ?? SQLITE_IOERR
        }
    }

    func truncate(_ size: Int64) -> Int32 {
        unsafe methods?.xTruncate(real, size) ?? SQLITE_IOERR
    }

    func undo(_ write: FaultFileSystem.Write) {
        _ = self.write(write.before, at: write.offset)
        if size != write.sizeBefore { _ = truncate(write.sizeBefore) }
    }

    func redo(_ write: FaultFileSystem.Write) {
        if let end = write.truncatedTo {
            _ = truncate(end)
        } else {
            _ = self.write(write.after, at: write.offset)
        }
    }
}
