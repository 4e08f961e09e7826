import COpenSSL

/// Owns one growing memory `BIO`, through which PEM text enters and leaves OpenSSL.
@safe final class MemoryBIO {
    let pointer: OpaquePointer

    init() {
        guard let made = unsafe BIO_new(BIO_s_mem()) else { preconditionFailure("out of memory") }
        unsafe pointer = made
    }

    /// Makes a BIO that holds a copy of `bytes`.
    convenience init(reading bytes: [UInt8]) {
        self.init()
        unsafe bytes.withUnsafeBytes { bytes in
            _ = unsafe BIO_write(pointer, bytes.baseAddress, Int32(clamping: bytes.count))
        }
    }

    deinit {
        unsafe BIO_free(pointer)
    }

    var contents: [UInt8] {
        var data: UnsafeMutablePointer<CChar>?
        let count = unsafe openssl_bio_memory(pointer, &data)
        guard let data = unsafe data, count > 0 else { return [] }
        return unsafe [UInt8](UnsafeRawBufferPointer(start: data, count: count))
    }
}
