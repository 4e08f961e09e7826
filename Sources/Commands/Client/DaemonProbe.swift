package import JSONBytes

/// Asks a running daemon how it is, for `ladle doctor`.
package enum DaemonProbe {
    /// The answer of `GET /v1/status`, or nil when nobody answers on the socket.
    package static func status(socket: String, version: String) -> JSONValue? {
        let client = HTTPClient(path: socket, io: ProcessIO(), version: version)
        let response = try? client.perform(.get("/v1/status"))
        return try? response?.json()
    }
}
