package import HTTPModel

/// The rules that keep foreign web pages out. They apply to every request, with any route, method and credential.
package struct BrowserPolicy: Sendable, Equatable {
    package var hosts: HostPolicy
    package var origins: OriginList

    package enum HostPolicy: Sendable, Equatable {
        /// TCP listeners: exactly these hosts.
        case only(HostList)
        /// Unix sockets, which no page can name: any host.
        case any
    }

    package init(hosts: HostPolicy, origins: OriginList = OriginList()) {
        self.hosts = hosts
        self.origins = origins
    }

    package enum Verdict: Equatable, Sendable {
        /// Continue, and add these fields to the answer.
        case pass(cors: [CORSField])
        /// Answer 204 with these fields: a preflight from a listed origin.
        case preflight([CORSField])
        /// Answer and close the connection.
        case refuse(AccessRefusal)
    }

    package func check(_ request: RequestHead) -> Verdict {
        if let refusal = hostFault(request) { return .refuse(refusal) }
        if let refusal = originFault(request) { return .refuse(refusal) }
        guard let origin = request.origins.first else {
            if let refusal = fetchFault(request) { return .refuse(refusal) }
            return .pass(cors: origins.isEmpty ? [] : CORSField.vary)
        }
        if request.method == .options, request.fields.contains(.accessControlRequestMethod) {
            let isPrivate = request.fields.contains(.accessControlRequestPrivateNetwork)
            return .preflight(CORSField.preflight(origin, privateNetwork: isPrivate))
        }
        return .pass(cors: CORSField.answer(origin))
    }

    /// Checks unsafe methods once the caller is known. A body that any page could post without a preflight is accepted
    /// without a token only if no header shows that a page sent it.
    package func checkSimpleBody(_ request: RequestHead, hasToken: Bool) -> AccessDecision {
        guard !hasToken, !request.isSafe, request.bodyKind != .other else { return .allowed }
        guard request.origins.isEmpty, !request.fields.contains(.referer),
            request.fields.string(for: .secFetchSite) ?? "none" == "none"
        else {
            return .refused(
                .crossOrigin(
                    "What any page could send unasked, a form, text or nothing, is taken from a page only with a token.",
                    hint: "send a token in Authorization, or application/json"
                )
            )
        }
        return .allowed
    }

    private func hostFault(_ request: RequestHead) -> AccessRefusal? {
        let given = request.hosts
        guard given.count <= 1 else { return .noHost }
        guard let host = given.first else {
            guard request.version == .http10 else { return .noHost }
            return hosts == .any ? nil : .wrongHost
        }
        switch hosts {
        case .any: return nil
        case .only(let list): return list.contains(host) ? nil : .wrongHost
        }
    }

    /// `Origin: null` (sandboxed frames, files, some redirects) is an origin like any other, and never listed.
    private func originFault(_ request: RequestHead) -> AccessRefusal? {
        let given = request.origins
        if given.isEmpty || (given.count == 1 && origins.contains(given[0])) { return nil }
        return .crossOrigin(
            "Web pages are served only from origins that were configured.",
            hint: "add the page's origin to access.origins"
        )
    }

    /// Fetch metadata of requests without an Origin: images, scripts, frames, navigations. Following a link is
    /// harmless; the rest would let a page load our answers into itself or hold our streams open. Unknown values count
    /// as cross-site.
    private func fetchFault(_ request: RequestHead) -> AccessRefusal? {
        let fields = request.fields
        guard let site = fields.string(for: .secFetchSite), site != "none", site != "same-origin" else { return nil }
        let isNavigation =
            request.method == .get && fields.string(for: .secFetchMode) == "navigate"
            && fields.string(for: .secFetchDest) == "document"
        return isNavigation ? nil : .crossOrigin("Another site's page caused this request.")
    }
}
