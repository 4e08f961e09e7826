package import Access
package import HTTPModel

/// The route, parameters and caller of a request, taken from its head. A client that repeats a request is served from
/// the value made for the first one.
package final class Request {
    package let route: Route
    /// The index of the route in the table.
    let place: Int
    package let parameters: [String]
    package let query: QueryItems
    package let caller: Caller
    /// The media type chosen among `route.produces`.
    package let answerType: MediaType
    let wantsText: Bool
    let hasToken: Bool
    /// The caller's right may be withdrawn during the answer.
    let mayEnd: Bool

    init(
        route: Route,
        place: Int,
        parameters: [String],
        query: QueryItems,
        caller: Caller,
        answerType: MediaType
    ) {
        self.route = route
        self.place = place
        self.parameters = parameters
        self.query = query
        self.caller = caller
        self.answerType = answerType
        wantsText = answerType == .plain
        hasToken = caller.tokenID != nil
        mayEnd = hasToken || caller.tailnet != nil
    }
}
