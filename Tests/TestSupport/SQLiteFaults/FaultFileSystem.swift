import CSQLite
import Synchronization

/// A file system (VFS) under SQLite that fails on demand. It works on real files, remembers each write since the last
/// sync, and can undo those writes as a loss of power does.
///
/// `@unchecked Sendable`: the two pointers are set once, their targets do not change after registration, and all other
/// state is behind the mutex `state`.
@safe
package final class FaultFileSystem: @unchecked Sendable {
    package enum Fault: Sendable, Equatable {
        /// The call fails; nothing is written.
        case inputOutput
        /// Half of the bytes are written, then the call fails.
        case shortWrite
        /// No space; nothing is written, now and until `clear`.
        case full
        /// Every unsynced write is lost and all later calls fail. With a seed, a random part of the unsynced writes
        /// reaches the disk.
        case powerLoss(keeping: UInt64?)
    }

    struct Write {
        var offset: Int64
        /// The bytes and the file size before the write.
        var before: [UInt8]
        var sizeBefore: Int64
        var after: [UInt8]
        /// The new size, when the write is a truncation; `after` is empty then.
        var truncatedTo: Int64?
    }

    struct State {
        var calls = 0
        var fault: Fault?
        var faultAt = Int.max
        var isFull = false
        var isDead = false
        var syncs = 0
        var unsynced: [String: [Write]] = [:]
        var handles: [String: [FaultFile]] = [:]
    }

    package let name: String
    let state: Mutex<State>
    private let vfs: UnsafeMutablePointer<sqlite3_vfs>
    let base: UnsafeMutablePointer<sqlite3_vfs>

    /// Nil if SQLite has no default file system.
    package init?(name: String) {
        _ = sqlite3_initialize()
        guard let base = unsafe sqlite3_vfs_find(nil) else { return nil }
        unsafe self.base = base
        self.name = name
        self.state = Mutex(State())
        unsafe vfs = UnsafeMutablePointer<sqlite3_vfs>.allocate(capacity: 1)
        unsafe vfs.initialize(to: base.pointee)
        let bytes = Array(name.utf8CString)
        let storage = UnsafeMutablePointer<CChar>.allocate(capacity: bytes.count)
        unsafe storage.initialize(from: bytes, count: bytes.count)
        unsafe vfs.pointee.zName = UnsafePointer(storage)
        unsafe vfs.pointee.pNext = nil
        unsafe vfs.pointee.szOsFile = FaultFile.headerSize + base.pointee.szOsFile
        unsafe vfs.pointee.pAppData = Unmanaged.passUnretained(self).toOpaque()
        unsafe vfs.pointee.xOpen = faultOpen
        unsafe vfs.pointee.xDelete = faultDelete
        _ = unsafe sqlite3_vfs_register(vfs, 0)
    }

    deinit {
        _ = unsafe sqlite3_vfs_unregister(vfs)
        unsafe vfs.pointee.zName.deallocate()
        unsafe vfs.deallocate()
    }

    /// Arms a fault for the n-th write, sync, truncation or removal from now on, counting from 1.
    package func arm(_ fault: Fault, atCall number: Int) {
        state.withLock { state in
            state.fault = fault
            state.faultAt = state.calls + number
        }
    }

    /// Disarms the fault and ends a full disk; after a loss of power all calls still fail.
    package func clear() {
        state.withLock { state in
            state.fault = nil
            state.faultAt = Int.max
            state.isFull = false
        }
    }

    /// False once the armed fault has struck.
    package var isArmed: Bool { state.withLock { $0.fault != nil } }
    package var calls: Int { state.withLock { $0.calls } }
    package var syncs: Int { state.withLock { $0.syncs } }

    /// Loses power now, without an armed fault.
    package func losePower(keeping seed: UInt64? = nil) {
        state.withLock { Self.losePower(&$0, keeping: seed) }
    }

    // MARK: Called by the callbacks, with the state locked

    enum Verdict {
        case proceed, fail, failHalfway, full
    }

    static func count(_ state: inout State) -> Verdict {
        if state.isDead { return .fail }
        state.calls += 1
        if state.calls >= state.faultAt, let fault = state.fault {
            state.fault = nil
            state.faultAt = Int.max
            switch fault {
            case .inputOutput: return .fail
            case .shortWrite: return .failHalfway
            case .full: state.isFull = true
            case .powerLoss(let seed):
                losePower(&state, keeping: seed)
                return .fail
            }
        }
        return state.isFull ? .full : .proceed
    }

    private static func losePower(_ state: inout State, keeping seed: UInt64?) {
        guard !state.isDead else { return }
        state.isDead = true
        for (path, writes) in state.unsynced {
            guard let file = state.handles[path]?.first else { continue }
            for write in writes.reversed() { file.undo(write) }
            guard var random = seed else { continue }
            for write in writes {
                random = random &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
                if random >> 63 == 1 { file.redo(write) }
            }
        }
        state.unsynced.removeAll()
    }
}
