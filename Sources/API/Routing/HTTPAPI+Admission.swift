import Access
package import EventLoops
import HTTPModel
package import Server

/// The first of a request's two turns: who asks, for what, and whether they may, from the head alone.
extension HTTPAPI {
    private enum Preparation {
        /// The answer has been given already.
        case answered
        /// tailscaled has to be asked who this is.
        case ask(WhoisQuestion)
        case ready(Call)
        /// One guess at a credential too many.
        case throttled(Problem)
    }

    package func admit(_ exchange: Exchange, on loop: isolated EventLoop) -> Admission {
        admit(exchange, mayAsk: true, on: loop)
    }

    private func admit(_ exchange: Exchange, mayAsk: Bool, on loop: isolated EventLoop) -> Admission {
        do throws(Problem) {
            switch try prepare(exchange, mayAsk: mayAsk, on: loop) {
            case .answered:
                return .answered
            case .ask(let question):
                ask(question, for: exchange, on: loop)
                return .later
            case .throttled(let problem):
                return refusals.hold(exchange, problem, on: loop) ? .later : .answered
            case .ready(let call):
                switch call.route.body {
                case .none: return .takes(bodyBytes: 0)
                case .unused, .upTo(Route.jsonBytes, _): return .takes(bodyBytes: settings.bodyBytes)
                case .upTo(let limit, _): return .takes(bodyBytes: limit)
                case .message: return .takes(bodyBytes: messageBodyLimit)
                }
            }
        } catch {
            exchange.respond(error, on: loop)
            return .answered
        }
    }

    private func ask(_ question: WhoisQuestion, for exchange: Exchange, on loop: isolated EventLoop) {
        access.whois?.ask(question, on: loop) { answer in
            if case .failed(let reason) = answer { self.logSilence(of: question, reason, on: loop) }
            self.access.authenticator.learn(answer, to: question, now: loop.wallClock)
            defer { if question.isForOneRequest { self.access.authenticator.forget(question) } }
            guard exchange.isOpen else { return }
            if case .takes(let limit) = self.admit(exchange, mayAsk: false, on: loop) {
                exchange.proceed(bodyBytes: limit, on: loop)
            }
        }
    }

    /// Who and whether, from the head alone.
    private func prepare(
        _ exchange: Exchange,
        mayAsk: Bool,
        on loop: isolated EventLoop
    ) throws(Problem) -> Preparation {
        if let known = try remembered(exchange, on: loop) { return known }
        let head = exchange.head
        let facts = RequestFacts(of: head)
        let browsers = rules.policy(for: exchange.connection)
        switch browsers.check(facts) {
        case .pass(let cors):
            exchange.commonFields = cors.map { ($0.name, $0.value) }
            AccessMemo.keep(facts, for: exchange)
        case .preflight(let fields):
            exchange.respond(Response.preflight(fields), on: loop)
            return .answered
        case .refuse(let refusal): throw Problem(refusal).closing()
        }
        // Before the routes that are open to all: the internet is more than all.
        if facts.serve?.isFunnel ?? false { throw Problem(.funnel).closing() }
        let match = router.match(head.method, head.path)
        var caller = Caller.nobody
        if !match.isOpen {
            switch access.identify(settings.peer(exchange.connection), facts, on: loop) {
            case .caller(let known): caller = known
            case .refused(let refusal):
                let problem = Problem(refusal).closing()
                if problem.code == .rateLimited { return .throttled(problem) }
                throw problem
            case .whois(let question):
                if mayAsk, access.whois != nil { return .ask(question) }
            }
            if caller == .nobody { throw Problem(.notPaired(credentialSent: false)).closing() }
            AccessMemo.keep(caller, facts, for: exchange)
        }
        let result = try prepare(exchange, by: caller, match, mayHaveBody: true, on: loop)
        if case .ready(let call) = result {
            if case .refused(let refusal) = browsers.checkSimpleBody(facts, hasToken: caller.tokenID != nil) {
                throw Problem(refusal).closing()
            }
            AccessMemo.keep(call, facts, access.authenticator.tokens)
        }
        return result
    }

    /// The short way, where the connection's last request was by the same caller.
    private func remembered(_ exchange: Exchange, on loop: isolated EventLoop) throws(Problem) -> Preparation? {
        guard let memo = exchange.connection.memo as? AccessMemo else { return nil }
        if exchange.repeatsLast, let request = memo.repeated(access, on: loop) {
            return .ready(begin(request, exchange))
        }
        memo.keep(nil)
        guard memo.covers(exchange.head) else { return nil }
        let match = router.match(exchange.method, exchange.head.path)
        guard let caller = match.isOpen ? .nobody : memo.caller else { return nil }
        let result = try prepare(exchange, by: caller, match, mayHaveBody: false, on: loop)
        if case .ready(let call) = result { memo.keep(call.request) }
        return result
    }

    /// What is asked for, by someone who is known.
    private func prepare(
        _ exchange: Exchange,
        by caller: Caller,
        _ match: Router.Match,
        mayHaveBody: Bool,
        on loop: isolated EventLoop
    ) throws(Problem) -> Preparation {
        let head = exchange.head
        switch match {
        case .none where head.method == .options && head.path.elementsEqual("*".utf8):
            exchange.respond(Response.options(router.methods), on: loop)
            return .answered
        case .none:
            throw Problem(
                .notFound,
                "There is no resource at \(String(decoding: head.path.prefix(200), as: UTF8.self))."
            )
        case .wrongMethod(let allowed, _):
            guard head.method == .options else { throw .methodNotAllowed(allowed) }
            exchange.respond(Response.options(allowed), on: loop)
            return .answered
        case .route(let route, let parameters):
            let request = Request(
                route: route,
                place: places[ObjectIdentifier(route)] ?? 0,
                parameters: parameters,
                query: try route.query(of: head),
                caller: caller,
                answerType: try head.answerType(among: route.produces)
            )
            let call = begin(request, exchange)
            if let scope = route.scope, case .refused(let refusal) = caller.decide(ScopeSet(scope)) {
                throw Problem(refusal)
            }
            if mayHaveBody { try route.body.checkType(head) }
            return .ready(call)
        }
    }

    private func begin(_ request: Request, _ exchange: Exchange) -> Call {
        let call = Call(exchange, request)
        if request.route.changesState { call.audit = access.audit }
        if request.hasToken { call.tokenRevision = access.authenticator.tokens.revision }
        exchange.notes = call
        return call
    }
}
