import Access
import EventLoops
import HTTPModel
import Server
import Service

/// `GET /v1/messages/{id}/speech`: one of the agent's messages, read aloud.
enum SpeechOperation {
    static let types: [MediaType] = [.mp3, .aac, .ogg, .wav, .flac, .audioMP4, .audioWebM, .octetStream]

    static func handle(_ api: HTTPAPI, _ call: Call, _ loop: isolated EventLoop) async throws(Problem) {
        let session = try api.runs.session(named: call.text("session") ?? "main", "session")
        guard call.caller.mayUse(session: session) else { throw Problem(.foreignSession) }
        // A recording that could not be passed on would be paid for in vain.
        guard call.exchange.reserve(FileAnswer.likely) else { throw .unreadAnswers }
        let caller = call.caller.isLimited ? call.caller.principal.identity : nil
        let speech = api.services.speech
        let words: SpeechService.Words
        let isNew: Bool
        do throws(SpeechService.Fault) {
            words = try await speech.words(of: call.pathID, in: session, on: loop)
            isNew = try speech.isNew(words, for: caller)
        } catch {
            throw Problem(error, call, api, on: loop)
        }
        if isNew { try api.access.admitSpeech(call.exchange, by: call.caller, on: loop) }
        let bytes: [UInt8]
        do throws(SpeechService.Fault) {
            bytes = try await speech.speak(words, for: caller, on: loop)
        } catch {
            throw Problem(error, call, api, on: loop)
        }
        call.respondTagged(FileAnswer.response(bytes, as: FileContent.audio(bytes), name: "speech"), on: loop)
    }
}

extension Problem {
    fileprivate init(_ fault: SpeechService.Fault, _ call: Call, _ api: HTTPAPI, on loop: isolated EventLoop) {
        switch fault {
        case .noMessage:
            self.init(.messageNotFound, "The agent said nothing under this id in the session.", field: "id")
        case .noText: self.init(.messageNotFound, "The message has no words to read.", field: "id")
        case .tooLong(let bytes, let limit):
            let detail = "The message has \(bytes) bytes or more, and the longest that is read aloud has \(limit)."
            self.init(.messageTooLarge, detail, field: "id")
        case .tooLarge(let bytes, let limit):
            self.init(.gatewayAnswerTooLarge, "The recording takes \(bytes) bytes; Ladle passes on \(limit).")
        case .busy:
            self.init(.speechBusy, "As many messages are being read as may be at one time, in all or for one caller.")
        case .reading(let fault): self.init(fault, doing: "read the message")
        case .gateway(let fault):
            // The text is the only member of the call, so a call that is wrong has a text that is too long.
            var hint: String?
            if case .refused(let refusal) = fault, refusal.isInvalid {
                hint = "the setting tts.maxTextLength of the gateway is the longest text that it reads"
            }
            let wait = call.untilNextTry(api, on: loop)
            self.init(fault, changing: "read it aloud", isRepeatable: true, hint: hint, retryAfterMs: wait)
            if let hint { (self.hint, field) = (hint, "id") }
        }
    }
}
