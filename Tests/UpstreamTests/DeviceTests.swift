import Basics
import Gateway
import JSONBytes
import POSIX
import TLS
import TestSupport
import Testing

@testable import Upstream

struct DeviceTests {
    /// From the protocol's published vector: the key of seed 00 to 1f.
    @Test func `the published payload and signature come out`() throws {
        let signer = try TestSigner()
        #expect(signer.deviceId == "56475aa75463474c0285df5dbf2bcab73da651358839e9b77481b2eab107708c")
        #expect(Base64.encode(signer.publicKey, as: .url) == "A6EHv_POEL4dcN0Y50vAmWfk1jCbpQ1fHdyGZBJVMbg")
        var payload = DevicePayload(
            deviceId: signer.deviceId,
            clientId: "gateway-client",
            clientMode: "backend",
            role: "operator",
            scopes: ["operator.read", "operator.write", "operator.approvals"],
            signedAtMs: 1_767_225_600_000,
            token: "example-shared-token",
            nonce: "3f1c0a52-6f0e-4a57-9c0f-2d9a6f0b7c11",
            platform: " macOS\t",
            deviceFamily: "Mac"
        )
        #expect(payload.text.hasSuffix("|3f1c0a52-6f0e-4a57-9c0f-2d9a6f0b7c11|macos|mac"))
        let v3 = try #require(signer.sign(Array(payload.text.utf8)))
        #expect(
            Base64.encode(v3, as: .url)
                == "rldgyiGSX1scb_j1kq-Klm_S1K9wZj6onjo6fA5uQyYE9mh74F9GkvgYiMPSUGsFiRxlBPwGkym9CUAKQ2AjAA"
        )
        payload.version = .v2
        let v2 = try #require(signer.sign(Array(payload.text.utf8)))
        #expect(
            Base64.encode(v2, as: .url)
                == "nzUPXH90ZsegInG323Rk4QeWVBwRZbazD0uDJHyq1IQ4kJJJUOEv3TQcpvbq5Nbyk5MfkRBwJkIsgKSkKRMUCQ"
        )
    }

    @Test func `every vector gives its payload and a signature that verifies`() throws {
        let root = try TestData.document("device-auth-vectors.json")
        let seed = try #require(Hex.decode(root["key"]?["seedHex"]?.string ?? ""))
        let identity = DeviceIdentity(try Ed25519PrivateKey(seed: seed))
        #expect(identity.deviceId == root["key"]?["deviceId"]?.string)
        for vector in try #require(root["vectors"]).elements {
            let inputs = try #require(vector["inputs"])
            let payload = DevicePayload(
                version: vector["payloadVersion"]?.string == "v2" ? .v2 : .v3,
                deviceId: identity.deviceId,
                clientId: inputs["clientId"]?.string ?? "",
                clientMode: inputs["clientMode"]?.string ?? "",
                role: inputs["role"]?.string ?? "",
                scopes: inputs["scopes"]?.elements.compactMap(\.string) ?? [],
                signedAtMs: inputs["signedAtMs"]?.int ?? 0,
                token: inputs["signatureToken"]?.string,
                nonce: inputs["nonce"]?.string ?? "",
                platform: inputs["platform"]?.string,
                deviceFamily: inputs["deviceFamily"]?.string
            )
            #expect(payload.text == vector["payload"]?.string)
            let message = Array(payload.text.utf8)
            let key = try Ed25519PublicKey(raw: identity.publicKey)
            #expect(
                key.verify(
                    try #require(Base64.decode(vector["signatureBase64Url"]?.string ?? "", as: .url)),
                    of: message
                )
            )
            #expect(key.verify(try #require(identity.sign(message)), of: message))
        }
    }

    @Test func `the key is made once, private, and a damaged one is never replaced`() throws {
        let folder = try ScratchDirectory()
        let path = folder.file("device.pem")
        let made = try DeviceIdentity.loadOrCreate(at: path)
        #expect(try folder.mode(of: "device.pem") == 0o600)
        #expect(try DeviceIdentity.loadOrCreate(at: path).deviceId == made.deviceId)
        try PrivateFile(path).replace(with: Array("rubbish".utf8))
        #expect(throws: DeviceIdentity.Problem.self) { try DeviceIdentity.loadOrCreate(at: path) }
        #expect(try PrivateFile(path).read() == Array("rubbish".utf8))
    }

    @Test func `the token store reads back what it wrote and leaves out what it cannot read`() throws {
        var store = DeviceTokenStore()
        let key = DeviceTokenStore.Key(gateway: "ws://127.0.0.1:18789", deviceId: "d", role: "operator")
        store[key] = DeviceToken(token: "t\"1", scopes: ["operator.read"], issuedAtMs: 5)
        #expect(try DeviceTokenStore(parsing: store.bytes) == store)
        let odd = #"{"version":1,"tokens":[{"gateway":1},7,{"gateway":"g","deviceId":"d","role":"r","token":""}]}"#
        #expect(try DeviceTokenStore(parsing: Array(odd.utf8)) == DeviceTokenStore())
        #expect(throws: JSONError.self) { try DeviceTokenStore(parsing: Array("{}".utf8)) }
        #expect(throws: JSONError.self) { try DeviceTokenStore(parsing: []) }
    }
}
