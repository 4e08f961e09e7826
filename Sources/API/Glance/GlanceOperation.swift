import Access
import Basics
import EventLoops
import HTTPModel
import Server
import Service

/// `GET /v1/glance`: the data for small displays, in at most 2,048 bytes, from memory.
enum GlanceOperation {
    static let routes = [
        Route(
            "getGlance",
            .get,
            "/v1/glance",
            scope: .read,
            produces: [.json, .plain],
            query: ["fields", "format", "private", "rev", "wait"],
            handler: handle
        )
    ]

    /// The same limit as for the long poll of events.
    private static let longestWait = 300
    /// Displays that ask too often are served from their own cache.
    private static let freshness = "private, max-age=10, stale-while-revalidate=60"

    private enum Format: String, CaseIterable {
        case waybar
    }

    static func handle(_ api: HTTPAPI, _ call: Call, _ loop: isolated EventLoop) throws(Problem) {
        let form = try form(of: call)
        let seconds = try call.number("wait", in: 0...longestWait, default: 0)
        try GlanceWait(api, call, form).start(seconds: seconds, on: loop)
    }

    private static func form(of call: Call) throws(Problem) -> GlanceForm {
        var form = GlanceForm(call.wantsText ? .line : .json)
        if let format: Format = try call.choice("format") {
            switch format {
            case .waybar: form.kind = .waybar
            }
        }
        form.isPrivate = try call.flag("private")
        guard let list = call.text("fields") else { return form }
        var fields: Set<GlanceForm.Field> = []
        for name in list.split(separator: ",", omittingEmptySubsequences: false) {
            guard let field = GlanceForm.Field(rawValue: String(name)) else {
                let names = GlanceForm.Field.allCases.map(\.rawValue)
                let near = NearestName.of(String(name.prefix(32)), in: names).map { " Did you mean \($0)?" } ?? ""
                throw .badParameter("fields", "`fields` is a list of \(names.joined(separator: ", "))." + near)
            }
            fields.insert(field)
        }
        form.fields = fields
        return form
    }

    /// - Parameter mayBeKept: false for an answer after a wait: from a cache it would come without waiting.
    static func response(_ encoded: GlanceEncoder.Encoded, _ form: GlanceForm, mayBeKept: Bool) -> Response {
        let text = "text/plain; charset=utf-8"
        let response = Response(
            .ok,
            contentType: form.kind == .line ? text : "application/json",
            body: encoded.bytes
        )
        return response.adding(.cacheControl, mayBeKept ? freshness : "no-store")
    }
}
