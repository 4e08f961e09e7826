import Basics
import Testing

@testable import TLS

struct CertificateTests {
    @Test func `a self-signed certificate has its names, dates and pin`() throws {
        let names = ["box.tail.test", "*.box.tail.test", "100.64.0.7", "fd7a:115c:a1e0::7"]
        let made = try SelfSignedCertificate.make(names: names, validDays: 90)
        let info = try CertificateInfo(pem: made.certificatePEM)
        #expect(info.names == names.compactMap { CertificateName($0) })
        #expect(info.names.count == 4)
        #expect(info.sha256 == made.pin)
        #expect((info.notAfter.milliseconds - info.notBefore.milliseconds) / 1000 == 90 * 86_400 + 3600)
        #expect(info.notAfter.milliseconds > 1_700_000_000_000)
        #expect(try SelfSignedCertificate.make(names: names, validDays: 90).pin != made.pin)
    }

    @Test(
        arguments: [[], [""], ["a b"], ["a,DNS:evil.test"], ["a..b"], ["*"], ["a.*.b"], ["ok.test", "-\n"]]
            as [[String]]
    )
    func `names that could not stand in a certificate are refused`(names: [String]) {
        #expect(throws: TLSError.self) { try SelfSignedCertificate.make(names: names, validDays: 10) }
    }

    @Test(arguments: [0, -1, 826]) func `validity has bounds`(days: Int) {
        #expect(throws: TLSError.self) { try SelfSignedCertificate.make(names: ["a.test"], validDays: days) }
    }

    @Test(
        arguments: [
            ("a.test", "A.test", true), ("a.test", "b.a.test", false), ("*.a.test", "b.a.test", true),
            ("*.a.test", "a.test", false), ("*.a.test", "c.b.a.test", false), ("*.a.test", ".a.test", false),
            ("10.0.0.1", "10.0.0.1", true), ("10.0.0.1", "10.0.0.2", false), ("::1", "0:0::1", true),
        ]
    )
    func `a name matches the hosts it stands for`(name: String, host: String, expected: Bool) throws {
        #expect(try #require(CertificateName(name)).matches(host) == expected)
    }

    @Test func `a key that belongs to another certificate is refused`() throws {
        let one = try SelfSignedCertificate.make(names: ["a.test"], validDays: 1)
        let other = try SelfSignedCertificate.make(names: ["a.test"], validDays: 1)
        let error = #expect(throws: TLSError.self) {
            try TLSIdentity(chainPEM: one.certificatePEM, keyPEM: other.keyPEM)
        }
        #expect(error?.operation == "match the private key to the certificate")
        #expect(error?.reasons == ["key values mismatch"])
    }

    @Test(arguments: ["", "hello", "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n"])
    func `text without a whole certificate is refused`(text: String) {
        #expect(throws: TLSError.self) { try CertificateInfo(pem: Array(text.utf8)) }
    }

    @Test func `a damaged second certificate of a chain is not passed over`() throws {
        let made = try SelfSignedCertificate.make(names: ["a.test"], validDays: 1)
        let text = made.certificatePEM + Array("-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n".utf8)
        #expect(throws: TLSError.self) { try TLSIdentity(chainPEM: text, keyPEM: made.keyPEM) }
    }

    @Test func `key and chain may share a file`() throws {
        let made = try SelfSignedCertificate.make(names: ["a.test"], validDays: 1)
        let both = made.keyPEM + made.certificatePEM
        #expect(try TLSIdentity(chainPEM: both, keyPEM: both).info.sha256 == made.pin)
    }

    @Test func `an encrypted key is refused without a prompt`() {
        let text = """
            -----BEGIN ENCRYPTED PRIVATE KEY-----
            MIGjMF8GCSqGSIb3DQEFDTBSMDEGCSqGSIb3DQEFDDAkBBDzBMEMyUqbGCQxpbUT
            Pj2LAgIIADAMBggqhkiG9w0CCQUAMB0GCWCGSAFlAwQBKgQQUHP4kl8GV+sbDDlG
            qAKQvwRAwUxBtVAfq0D3O9IeJkFAyZZu0eYkbQwJZ9vPhQfmM1kWm1JgVqqQmGPB
            jxW/QRRvSXdEwZ7qqUr2yPqhUbTLhg==
            -----END ENCRYPTED PRIVATE KEY-----
            """
        #expect(throws: TLSError.self) { try Ed25519PrivateKey(pem: Array(text.utf8)) }
    }
}
