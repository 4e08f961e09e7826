import COpenSSL

/// Random bytes from OpenSSL's generator, which the kernel seeds.
package enum SecureRandom {
    /// Stops the process on failure: without randomness Ladle can make no tokens or keys, and no input can cause this.
    package static func bytes(_ count: Int) -> [UInt8] {
        guard count > 0 else { return [] }
        return unsafe [UInt8](unsafeUninitializedCapacity: count) { output, initialized in
            let done = unsafe RAND_bytes(output.baseAddress, Int32(clamping: count))
            precondition(done == 1 && count <= Int32.max, "the system's random generator failed")
            initialized = count
        }
    }
}
