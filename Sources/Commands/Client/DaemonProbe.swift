package import JSONBytes

/// Asks a running daemon for its status, for `ladle doctor`.
package enum DaemonProbe {
    /// The answer of `GET /v1/status`.
    package static func status(socket: String, version: String) throws(ClientError) -> JSONValue {
        try get("/v1/status", socket: socket, version: version)
    }

    /// Whom the daemon follows, if it follows somebody; otherwise nil, and for one that does not answer.
    package static func following(socket: String, version: String) -> JSONValue? {
        let cluster = try? get("/v1/cluster", socket: socket, version: version)
        return cluster?["role"]?.string == "follower" ? cluster : nil
    }

    /// The gateway as the daemon saw it, by names and numbers alone.
    package static func gatewayReport(socket: String, version: String) throws(ClientError) -> JSONValue {
        try get("/v1/debug/gateway", socket: socket, version: version)
    }

    private static func get(_ path: String, socket: String, version: String) throws(ClientError) -> JSONValue {
        var request = ClientRequest.get(path)
        request.patienceMilliseconds = 5000
        return try HTTPClient(ServerPlace(.unix(path: socket)), io: ProcessIO(), version: version).perform(request)
            .json()
    }
}
