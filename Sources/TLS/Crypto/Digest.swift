import COpenSSL

/// One-shot hashes. SHA-1 serves the WebSocket handshake alone (RFC 6455 §4.2.2), where it proves nothing.
package enum Digest {
    package static func sha256(_ bytes: [UInt8]) -> [UInt8] {
        unsafe sha256(bytes.span.bytes)
    }

    package static func sha256(_ bytes: RawSpan) -> [UInt8] {
        unsafe bytes.withUnsafeBytes { input in
            unsafe [UInt8](unsafeUninitializedCapacity: 32) { output, count in
                unsafe openssl_sha256(input.bytesOrEmpty, input.count, output.baseAddress)
                count = 32
            }
        }
    }
}

/// Compares in a time that depends on the lengths alone: for tokens, digests and tags.
package func constantTimeEqual(_ left: [UInt8], _ right: [UInt8]) -> Bool {
    guard left.count == right.count else { return false }
    return unsafe left.withUnsafeBytes { left in
        unsafe right.withUnsafeBytes { right in
            unsafe left.count == 0 || CRYPTO_memcmp(left.baseAddress, right.baseAddress, left.count) == 0
        }
    }
}

extension UnsafeRawBufferPointer {
    /// The bytes for a C call. An empty buffer gives a valid pointer, because some calls read nil as "none given".
    var bytesOrEmpty: UnsafePointer<UInt8>? {
        unsafe baseAddress?.assumingMemoryBound(to: UInt8.self) ?? EmptyBytes.pointer
    }
}

@safe private enum EmptyBytes {
    /// One byte that lives as long as the process and is never written.
    nonisolated(unsafe) static let pointer: UnsafePointer<UInt8> = {
        let byte = UnsafeMutablePointer<UInt8>.allocate(capacity: 1)
        unsafe byte.initialize(to: 0)
        return unsafe UnsafePointer(byte)
    }()
}
