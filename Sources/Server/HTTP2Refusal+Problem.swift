import HTTP2
import HTTPModel

extension Problem {
    init(_ refusal: HTTP2Refusal) {
        switch refusal {
        case .headTooLarge:
            self.init(
                .headerFieldsTooLarge,
                "HEAD_TOO_LARGE",
                "Head too large",
                "The header fields take too many bytes."
            )
        case .tooManyFields:
            self.init(.headerFieldsTooLarge, "HEAD_TOO_LARGE", "Head too large", "There are too many header fields.")
        case .badScheme:
            self.init(.badRequest, "BAD_TARGET", "Bad target", "The scheme is neither http nor https.")
        case .badTarget(let error):
            self.init(.badRequest, "BAD_TARGET", "Bad target", error.description)
        }
        retryable = false
    }
}
