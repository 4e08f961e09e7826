import CSQLite
import Synchronization

// The C functions of `FaultFileSystem`. Each finds its `FaultFile` through the header and forwards the call to the real
// file system unless a fault is due.

/// An extended code `SQLITE_IOERR_…` by its number in sqlite3.h; Swift does not import those macros.
private func failure(_ number: Int32) -> Int32 { SQLITE_IOERR | number << 8 }

/// The header that SQLite sees: its own fields and our object.
@unsafe
private struct FaultHeader {
    var file: sqlite3_file
    var object: UnsafeMutableRawPointer?
}

private typealias FilePointer = UnsafeMutablePointer<sqlite3_file>

private func object(_ file: FilePointer?) -> FaultFile? {
    guard let file = unsafe file else { return nil }
    let header = unsafe UnsafeMutableRawPointer(file).assumingMemoryBound(to: FaultHeader.self)
    guard let object = unsafe header.pointee.object else { return nil }
    return unsafe Unmanaged<FaultFile>.fromOpaque(object).takeUnretainedValue()
}

private func system(_ vfs: UnsafeMutablePointer<sqlite3_vfs>?) -> FaultFileSystem? {
    guard let data = unsafe vfs?.pointee.pAppData else { return nil }
    return unsafe Unmanaged<FaultFileSystem>.fromOpaque(data).takeUnretainedValue()
}

func faultOpen(
    vfs: UnsafeMutablePointer<sqlite3_vfs>?,
    name: UnsafePointer<CChar>?,
    file: UnsafeMutablePointer<sqlite3_file>?,
    flags: Int32,
    outFlags: UnsafeMutablePointer<Int32>?
) -> Int32 {
    guard let system = unsafe system(vfs), let file = unsafe file else { return SQLITE_CANTOPEN }
    unsafe file.pointee.pMethods = nil
    if system.state.withLock({ $0.isDead }) { return SQLITE_CANTOPEN }
    let raw = UnsafeMutableRawPointer(file)
    let real = unsafe (raw + Int(FaultFile.headerSize)).assumingMemoryBound(to: sqlite3_file.self)
    let base = unsafe system.base
    let result = unsafe base.pointee.xOpen(base, name, real, flags, outFlags)
    guard result == SQLITE_OK else { return result }
    let path = unsafe name.map { unsafe String(cString: $0) } ?? "temporary"
    let opened = unsafe FaultFile(path: path, system: system, real: real)
    let header = unsafe raw.assumingMemoryBound(to: FaultHeader.self)
    unsafe header.pointee.object = Unmanaged.passRetained(opened).toOpaque()
    unsafe file.pointee.pMethods = faultMethods
    let box = unsafe UncheckedBox(opened)
    system.state.withLock { unsafe $0.handles[path, default: []].append(box.value) }
    return SQLITE_OK
}

/// Carries a file into the locked state; the list of open files is only read with the state locked.
@unsafe
private struct UncheckedBox: @unchecked Sendable {
    let value: FaultFile

    init(_ value: FaultFile) {
        unsafe self.value = value
    }
}

func faultDelete(
    vfs: UnsafeMutablePointer<sqlite3_vfs>?,
    name: UnsafePointer<CChar>?,
    syncDirectory: Int32
) -> Int32 {
    guard let system = unsafe system(vfs) else { return failure(10) }
    switch system.state.withLock({ FaultFileSystem.count(&$0) }) {
    case .proceed: break
    case .fail, .failHalfway, .full: return failure(10)
    }
    let base = unsafe system.base
    let path = unsafe name.map { unsafe String(cString: $0) }
    let result = unsafe base.pointee.xDelete(base, name, syncDirectory)
    if let path { system.state.withLock { $0.unsynced[path] = nil } }
    return result
}

private func faultClose(file: FilePointer?) -> Int32 {
    guard let file = unsafe file, let object = unsafe object(file) else { return SQLITE_OK }
    let path = object.path
    let identity = ObjectIdentifier(object)
    object.system.state.withLock { $0.handles[path]?.removeAll { ObjectIdentifier($0) == identity } }
    let real = unsafe object.file
    let result = unsafe object.methods?.xClose(real) ?? SQLITE_OK
    let header = unsafe UnsafeMutableRawPointer(file).assumingMemoryBound(to: FaultHeader.self)
    unsafe header.pointee.object.map { unsafe Unmanaged<FaultFile>.fromOpaque($0).release() }
    unsafe header.pointee.object = nil
    return result
}

private func faultRead(file: FilePointer?, bytes: UnsafeMutableRawPointer?, count: Int32, offset: Int64) -> Int32 {
    guard let object = unsafe object(file) else { return SQLITE_IOERR }
    if object.system.state.withLock({ $0.isDead }) { return failure(1) }
    let real = unsafe object.file
    return unsafe object.methods?.xRead(real, bytes, count, offset) ?? failure(1)
}

private func faultWrite(file: FilePointer?, bytes: UnsafeRawPointer?, count: Int32, offset: Int64) -> Int32 {
    guard let object = unsafe object(file) else { return SQLITE_IOERR }
    let content = unsafe [UInt8](UnsafeRawBufferPointer(start: bytes, count: Int(count)))
    let box = unsafe UncheckedBox(object)
    return object.system.state.withLock { state in
        let object = unsafe box.value
        let verdict = FaultFileSystem.count(&state)
        let part: [UInt8]
        switch verdict {
        case .proceed: part = content
        case .fail: return failure(3)
        case .failHalfway: part = Array(content.prefix(content.count / 2))
        case .full: return SQLITE_FULL
        }
        state.unsynced[object.path, default: []].append(
            FaultFileSystem.Write(
                offset: offset,
                before: object.read(offset, part.count),
                sizeBefore: object.size,
                after: part
            )
        )
        let result = object.write(part, at: offset)
        return verdict == .failHalfway ? failure(3) : result
    }
}

private func faultTruncate(file: FilePointer?, size: Int64) -> Int32 {
    guard let object = unsafe object(file) else { return SQLITE_IOERR }
    let box = unsafe UncheckedBox(object)
    return object.system.state.withLock { state in
        let object = unsafe box.value
        guard FaultFileSystem.count(&state) == .proceed else { return failure(6) }
        let old = object.size
        if size < old {
            let tail = object.read(size, Int(old - size))
            state.unsynced[object.path, default: []].append(
                FaultFileSystem.Write(offset: size, before: tail, sizeBefore: old, after: [], truncatedTo: size)
            )
        }
        return object.truncate(size)
    }
}

/// The real file is not synced. This model decides the state of the disk, and `losePower` undoes writes that were not
/// synced here; a thousand real syncs would only cost time.
private func faultSync(file: FilePointer?, flags: Int32) -> Int32 {
    guard let object = unsafe object(file) else { return SQLITE_IOERR }
    return object.system.state.withLock { state in
        // A sync that fails, for any reason, has synced nothing.
        guard FaultFileSystem.count(&state) == .proceed else { return failure(4) }
        state.unsynced[object.path] = nil
        state.syncs += 1
        return SQLITE_OK
    }
}

private func faultFileSize(file: FilePointer?, size: UnsafeMutablePointer<sqlite3_int64>?) -> Int32 {
    guard let object = unsafe object(file) else { return SQLITE_IOERR }
    let real = unsafe object.file
    return unsafe object.methods?.xFileSize(real, size) ?? failure(7)
}

private func faultLock(file: FilePointer?, level: Int32) -> Int32 {
    guard let object = unsafe object(file) else { return SQLITE_IOERR }
    let real = unsafe object.file
    return unsafe object.methods?.xLock(real, level) ?? failure(15)
}

private func faultUnlock(file: FilePointer?, level: Int32) -> Int32 {
    guard let object = unsafe object(file) else { return SQLITE_IOERR }
    let real = unsafe object.file
    return unsafe object.methods?.xUnlock(real, level) ?? failure(8)
}

private func faultCheckReservedLock(file: FilePointer?, result: UnsafeMutablePointer<Int32>?) -> Int32 {
    guard let object = unsafe object(file) else { return SQLITE_IOERR }
    let real = unsafe object.file
    return unsafe object.methods?.xCheckReservedLock(real, result) ?? failure(14)
}

private func faultFileControl(file: FilePointer?, operation: Int32, argument: UnsafeMutableRawPointer?) -> Int32 {
    guard let object = unsafe object(file) else { return SQLITE_IOERR }
    let real = unsafe object.file
    return unsafe object.methods?.xFileControl(real, operation, argument) ?? SQLITE_NOTFOUND
}

private func faultSectorSize(file: FilePointer?) -> Int32 {
    guard let object = unsafe object(file) else { return 4_096 }
    let real = unsafe object.file
    return unsafe object.methods?.xSectorSize(real) ?? 4_096
}

private func faultDeviceCharacteristics(file: FilePointer?) -> Int32 {
    guard let object = unsafe object(file) else { return 0 }
    let real = unsafe object.file
    return unsafe object.methods?.xDeviceCharacteristics(real) ?? 0
}

private func faultShmMap(
    file: FilePointer?,
    page: Int32,
    size: Int32,
    extend: Int32,
    address: UnsafeMutablePointer<UnsafeMutableRawPointer?>?
) -> Int32 {
    guard let object = unsafe object(file) else { return SQLITE_IOERR }
    let real = unsafe object.file
    return unsafe object.methods?.xShmMap(real, page, size, extend, address) ?? failure(21)
}

private func faultShmLock(file: FilePointer?, offset: Int32, count: Int32, flags: Int32) -> Int32 {
    guard let object = unsafe object(file) else { return SQLITE_IOERR }
    let real = unsafe object.file
    return unsafe object.methods?.xShmLock(real, offset, count, flags) ?? failure(20)
}

private func faultShmBarrier(file: FilePointer?) {
    guard let object = unsafe object(file) else { return }
    let real = unsafe object.file
    unsafe object.methods?.xShmBarrier(real)
}

private func faultShmUnmap(file: FilePointer?, delete: Int32) -> Int32 {
    guard let object = unsafe object(file) else { return SQLITE_IOERR }
    let real = unsafe object.file
    return unsafe object.methods?.xShmUnmap(real, delete) ?? SQLITE_OK
}

/// Version 2 of the methods: it has the shared memory that the write-ahead log needs, but no memory-mapped files, whose
/// writes would bypass `xWrite`. Unsafe only by its type: it is written here, and only read ever after.
nonisolated(unsafe) private let faultMethods: UnsafePointer<sqlite3_io_methods> = {
    let methods = UnsafeMutablePointer<sqlite3_io_methods>.allocate(capacity: 1)
    unsafe methods.initialize(
        to: sqlite3_io_methods(
            iVersion: 2,
            xClose: faultClose,
            xRead: faultRead,
            xWrite: faultWrite,
            xTruncate: faultTruncate,
            xSync: faultSync,
            xFileSize: faultFileSize,
            xLock: faultLock,
            xUnlock: faultUnlock,
            xCheckReservedLock: faultCheckReservedLock,
            xFileControl: faultFileControl,
            xSectorSize: faultSectorSize,
            xDeviceCharacteristics: faultDeviceCharacteristics,
            xShmMap: faultShmMap,
            xShmLock: faultShmLock,
            xShmBarrier: faultShmBarrier,
            xShmUnmap: faultShmUnmap,
            xFetch: nil,
            xUnfetch: nil
        )
    )
    return unsafe UnsafePointer(methods)
}()
