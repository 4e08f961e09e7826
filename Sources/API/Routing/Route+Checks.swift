import Basics
import HTTPModel
import Server

/// Checks of a request's head against its route.
extension Route {
    /// The query parameters, each given once and none misspelt.
    func query(of head: RequestHead) throws(Problem) -> QueryItems {
        let items: QueryItems
        do throws(RequestTargetError) {
            items = try head.queryItems()
        } catch {
            throw Problem(.badTarget, error.description, field: "query")
        }
        if let name = items.repeatedName { throw .badParameter(name, "`\(name)` stands more than once.") }
        // Unknown names are ignored, since clients add some to defeat caches; misspelt ones are refused.
        for item in items.items where !query.contains(item.name) {
            guard let meant = NearestName.of(item.name, in: query) else { continue }
            throw .badParameter(item.name, "There is no parameter `\(item.name)` here. Did you mean `\(meant)`?")
        }
        return items
    }
}

extension Route.Body {
    /// Throws if the head declares a body format that the route does not accept.
    func checkType(_ head: RequestHead) throws(Problem) {
        if let coding = head.fields[.contentEncoding], !coding.elementsEqual("identity".utf8) {
            throw Problem(
                .unsupportedEncoding,
                "Bodies are taken as they are, without a Content-Encoding.",
                field: "Content-Encoding"
            ).adding(.acceptEncoding, "identity")
        }
        let types: [MediaType]
        switch self {
        case .none, .message: return
        case .unused: types = [.json]
        case .upTo(_, let listed): types = listed
        }
        guard let field = head.fields[.contentType] else { return }
        guard let type = try? MediaType(parsing: field),
            types.contains(where: { $0.isSameEssence(as: type) || ($0.isJSON && type.isJSON) })
        else { throw .unsupportedMediaType(types) }
    }
}

extension RequestHead {
    /// The offer the client prefers. Problems are never refused: a client that accepts only their format, as generated
    /// ones do, gets the first offer.
    func answerType(among offers: [MediaType]) throws(Problem) -> MediaType {
        guard let first = offers.first, let field = fields[.accept] else { return offers.first ?? .json }
        if field.elementsEqual("*/*".utf8) { return first }
        let list: AcceptList
        do throws(HeaderValueError) {
            list = try AcceptList(parsing: (fields.list(for: .accept) ?? [])[...])
        } catch {
            throw .badHeader("Accept", error)
        }
        if let place = list.choose(among: offers) { return offers[place] }
        guard list.names(.problemJSON) else { throw .notAcceptable(offers) }
        return first
    }
}
