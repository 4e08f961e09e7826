import COpenSSL

/// A session's `BIO`: it reads from the bytes lent for the current call and appends to the session's output. It keeps
/// no bytes.
///
/// A memory BIO would hold its largest buffer for the life of a connection. With thousands of idle streams that would
/// be most of the memory they cost.
enum TransferBIO {
    @unsafe static func make(for session: TLSSession) -> OpaquePointer? {
        guard let method = unsafe method.pointer, let bio = unsafe BIO_new(method) else { return nil }
        unsafe BIO_set_data(bio, Unmanaged.passUnretained(session).toOpaque())
        unsafe BIO_set_init(bio, 1)
        return unsafe bio
    }

    private static let method = Method()

    /// One table of callbacks for the process, never freed.
    ///
    /// Unchecked: only `init` writes it.
    @safe private final class Method: @unchecked Sendable {
        let pointer: OpaquePointer?

        init() {
            let kind = BIO_get_new_index() | BIO_TYPE_SOURCE_SINK
            unsafe pointer = BIO_meth_new(kind, "session")
            unsafe BIO_meth_set_read(pointer, bioRead)
            unsafe BIO_meth_set_write(pointer, bioWrite)
            unsafe BIO_meth_set_ctrl(pointer, bioControl)
        }
    }
}

@unsafe private func session(of bio: OpaquePointer?) -> TLSSession? {
    unsafe BIO_get_data(bio).map { unsafe Unmanaged<TLSSession>.fromOpaque($0).takeUnretainedValue() }
}

private let bioRead: @convention(c) (OpaquePointer?, UnsafeMutablePointer<CChar>?, Int32) -> Int32 = {
    bio,
    buffer,
    capacity in
    guard let session = unsafe session(of: bio), let buffer = unsafe buffer, capacity > 0 else { return -1 }
    let count = unsafe session.takeInput(into: UnsafeMutableRawBufferPointer(start: buffer, count: Int(capacity)))
    guard count > 0 else {
        unsafe openssl_bio_retry_read(bio)
        return -1
    }
    unsafe openssl_bio_clear_retry(bio)
    return Int32(count)
}

private let bioWrite: @convention(c) (OpaquePointer?, UnsafePointer<CChar>?, Int32) -> Int32 = { bio, bytes, count in
    guard let session = unsafe session(of: bio), let bytes = unsafe bytes, count > 0 else { return -1 }
    unsafe openssl_bio_clear_retry(bio)
    unsafe session.appendOutput(UnsafeRawBufferPointer(start: bytes, count: Int(count)))
    return count
}

private let bioControl: @convention(c) (OpaquePointer?, Int32, Int, UnsafeMutableRawPointer?) -> Int = {
    _,
    command,
    _,
    _ in
    // The library flushes after each flight; no other control command matters here.
    command == BIO_CTRL_FLUSH ? 1 : 0
}
