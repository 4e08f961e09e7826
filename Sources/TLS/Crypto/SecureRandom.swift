import COpenSSL

/// Bytes from OpenSSL's generator, which the kernel seeds.
package enum SecureRandom {
    /// A machine without randomness cannot make tokens or keys; no input leads here, so failing stops the process.
    package static func bytes(_ count: Int) -> [UInt8] {
        guard count > 0 else { return [] }
        return unsafe [UInt8](unsafeUninitializedCapacity: count) { output, initialized in
            let done = unsafe RAND_bytes(output.baseAddress, Int32(clamping: count))
            precondition(done == 1 && count <= Int32.max, "the system's random generator failed")
            initialized = count
        }
    }
}
