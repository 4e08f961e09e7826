package import JSONBytes

/// Asks a running daemon for its status, for `ladle doctor`.
package enum DaemonProbe {
    /// The answer of `GET /v1/status`.
    package static func status(socket: String, version: String) throws(ClientError) -> JSONValue {
        var request = ClientRequest.get("/v1/status")
        request.patienceMilliseconds = 5000
        return try HTTPClient(ServerPlace(.unix(path: socket)), io: ProcessIO(), version: version).perform(request)
            .json()
    }
}
