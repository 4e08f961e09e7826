/// The rules that keep web pages out. They hold for every request, with any route, method and credential.
package struct BrowserPolicy: Sendable, Equatable {
    package var hosts: HostPolicy
    package var origins: OriginList

    package enum HostPolicy: Sendable, Equatable {
        /// TCP.
        case only(HostList)
        /// Unix sockets: no page can name one.
        case any
    }

    package init(hosts: HostPolicy, origins: OriginList = OriginList()) {
        self.hosts = hosts
        self.origins = origins
    }

    package enum Verdict: Equatable, Sendable {
        /// Go on, and add these fields to the answer.
        case pass(cors: [CORSField])
        /// Answer 204 with these fields: a preflight from a listed origin.
        case preflight([CORSField])
        /// Answer and close the connection.
        case refuse(AccessRefusal)
    }

    package func check(_ request: RequestFacts) -> Verdict {
        if let refusal = hostFault(request) { return .refuse(refusal) }
        if let refusal = originFault(request) { return .refuse(refusal) }
        guard let origin = request.origins.first else {
            if let refusal = fetchFault(request) { return .refuse(refusal) }
            return .pass(cors: origins.isEmpty ? [] : CORSField.vary)
        }
        if request.method == "OPTIONS", request.requestedMethod != nil {
            return .preflight(CORSField.preflight(origin, privateNetwork: request.requestsPrivateNetwork))
        }
        return .pass(cors: CORSField.answer(origin))
    }

    /// For unsafe methods, after the caller is known. A body that any page could post without a preflight is accepted
    /// without a token only if no header shows that a page sent it.
    package func checkSimpleBody(_ request: RequestFacts, hasToken: Bool) -> AccessDecision {
        guard !hasToken, !request.isSafe, request.body != .other else { return .allowed }
        guard request.origins.isEmpty, !request.hasReferer, request.fetchSite ?? "none" == "none" else {
            return .refused(
                .crossOrigin(
                    "What any page could send unasked, a form, text or nothing, is taken from a page only with a token.",
                    hint: "send a token in Authorization, or application/json"
                )
            )
        }
        return .allowed
    }

    private func hostFault(_ request: RequestFacts) -> AccessRefusal? {
        guard request.hosts.count <= 1 else { return .noHost }
        guard let host = request.hosts.first else {
            guard request.version == .http10 else { return .noHost }
            return hosts == .any ? nil : .wrongHost
        }
        switch hosts {
        case .any: return nil
        case .only(let list): return list.contains(host) ? nil : .wrongHost
        }
    }

    /// `Origin: null` (sandboxed frames, files, some redirects) is an origin like any other, and never listed.
    private func originFault(_ request: RequestFacts) -> AccessRefusal? {
        if request.origins.isEmpty { return nil }
        if request.origins.count == 1, origins.contains(request.origins[0]) { return nil }
        return .crossOrigin(
            "Web pages are served only from origins that were configured.",
            hint: "add the page's origin to access.origins"
        )
    }

    /// Fetch metadata of requests without an Origin: images, scripts, frames, navigations. Following a link is
    /// harmless; the rest would let a page load our answers into itself or hold our streams open. Unknown values count
    /// as cross-site.
    private func fetchFault(_ request: RequestFacts) -> AccessRefusal? {
        guard let site = request.fetchSite, site != "none", site != "same-origin" else { return nil }
        let isNavigation =
            request.method == "GET" && request.fetchMode == "navigate" && request.fetchDestination == "document"
        return isNavigation ? nil : .crossOrigin("Another site's page caused this request.")
    }
}
