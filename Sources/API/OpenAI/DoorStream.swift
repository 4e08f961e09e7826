import Access
import Basics
import EventLoops
import HTTPModel
import OpenAI
import Outbox
import Server
import Service

/// An answer as a stream of chunks or of response events. It is read from the answer's course at the client's pace.
final class DoorStream: OpenRequest, ExchangeOwner, DoorListener {
    enum Form {
        case chunks(any ChunkForm)
        case response(ResponseStream)
    }

    private static let keepAliveMilliseconds: Int64 = 15_000
    /// Some libraries give up after two minutes without a chunk, whatever comments come.
    private static let mostQuietMilliseconds: Int64 = 60_000

    private let api: HTTPAPI
    private let call: Call
    private let answer: DoorAnswer
    private var form: Form
    private var reader = CourseReader()
    /// The client's leaving stops the run.
    private let stopsRun: Bool
    private var timer: TimerID?
    private var lastChunk: UInt64 = 0
    private var isOpen = false
    private var isBlocked = false
    private var holdsSlot = false

    init(_ api: HTTPAPI, _ call: Call, _ answer: DoorAnswer, _ form: Form, stopsRun: Bool) {
        self.api = api
        self.call = call
        self.answer = answer
        self.form = form
        self.stopsRun = stopsRun
    }

    var tokenID: String? { call.caller.tokenID }

    func open(_ fields: [(String, String)], on loop: isolated EventLoop) throws(OpenAIError) {
        if api.streamRefusal(for: call, now: loop.wallClock) != nil {
            answer.letGo()
            throw OpenAIError(api.isShuttingDown ? .shuttingDown : .tooManyStreams)
        }
        holdsSlot = true
        var head = ResponseHead(.ok, contentType: contentType)
        for (name, value) in fields { head.fields.append(name, value) }
        head.fields.append("x-request-id", call.exchange.requestID)
        call.settle(.ok, on: loop)
        call.exchange.owner = self
        api.beginStream(call, head, on: loop)
        guard call.exchange.isStreaming else { return leave(on: loop) }
        call.exchange.limitWaiting(to: api.hub.bufferLimit)
        isOpen = true
        api.open.add(self)
        answer.add(self, on: loop)
        if case .chunks(let form) = form { write(form.first, on: loop) }
        flush(on: loop)
        if isOpen { beat(on: loop) }
    }

    private var contentType: String {
        switch form {
        case .chunks(let form): type(of: form).mediaType
        case .response: StreamFormat.eventStream.contentType
        }
    }

    func changed(_ answer: DoorAnswer, on loop: isolated EventLoop) { flush(on: loop) }

    // MARK: Writing

    private func flush(on loop: isolated EventLoop) {
        while isOpen, !isBlocked {
            switch form {
            case .chunks(let form):
                if let piece = reader.next(of: answer.course) {
                    write(piece, form, on: loop)
                } else if reader.isAtEnd(of: answer.course) {
                    return finish(form, on: loop)
                } else {
                    return
                }
            case .response(var stream):
                guard let object = answer.object else { return end(on: loop) }
                let event = stream.next(of: object)
                form = .response(stream)
                if let event {
                    write(event.bytes, on: loop)
                } else if stream.isOver {
                    answer.delivered(on: loop)
                    return end(on: loop)
                } else {
                    return
                }
            }
        }
    }

    private func write(_ piece: CourseReader.Piece, _ form: any ChunkForm, on loop: isolated EventLoop) {
        switch piece {
        case .text(let text): write(form.text(text), on: loop)
        case .note(let line): write(form.note(line), on: loop)
        case .replaced: write(form.text(AnswerCourse.separator), on: loop)
        case .jump, .skipped: break
        }
    }

    private func finish(_ form: any ChunkForm, on loop: isolated EventLoop) {
        switch answer.course.end {
        case .completed(let usage):
            write(form.end(usage, isCut: answer.isTruncated, milliseconds: answer.milliseconds), on: loop)
        case .failed(let error), .cancelled(let error): write(form.failure(error), on: loop)
        case nil: return
        }
        if isOpen { answer.delivered(on: loop) }
        end(on: loop)
    }

    private func write(_ bytes: [UInt8], isChunk: Bool = true, on loop: isolated EventLoop) {
        guard isOpen else { return }
        if isChunk { lastChunk = loop.now }
        switch call.exchange.write(bytes, on: loop) {
        case .written: break
        case .waiting: isBlocked = true
        case .full, .gone:
            leave(on: loop)
            call.exchange.abort(on: loop)
        }
    }

    private func beat(on loop: isolated EventLoop) {
        timer = loop.after(milliseconds: Self.keepAliveMilliseconds) { [weak self] in
            guard let self, self.isOpen else { return }
            let isQuiet = loop.now - self.lastChunk >= UInt64(Self.mostQuietMilliseconds) * 1_000_000
            if !self.isBlocked {
                switch self.form {
                case .chunks(let form) where isQuiet: self.write(form.empty, on: loop)
                case .chunks(let form):
                    if let line = type(of: form).keepAlive { self.write(line, isChunk: false, on: loop) }
                case .response: self.write(ResponseStream.keepAlive, isChunk: false, on: loop)
                }
            }
            if self.isOpen { self.beat(on: loop) }
        }
    }

    // MARK: The end

    func drained(_ exchange: Exchange, on loop: isolated EventLoop) {
        guard isBlocked else { return }
        isBlocked = false
        flush(on: loop)
    }

    func peerLeft(_ exchange: Exchange, on loop: isolated EventLoop) { leave(on: loop) }

    /// The stream of a response just ends, so that its client comes back with the last number it has.
    func shutDown(reason: String, on loop: isolated EventLoop) {
        if case .chunks(let form) = form {
            let isEnding = reason == "shutting_down"
            let error =
                isEnding
                ? OpenAIError(.shuttingDown)
                : OpenAIError(401, .authentication, "invalid_api_key", "The key has ended (\(reason)).")
            write(form.failure(error), on: loop)
        }
        guard isOpen else { return }
        isOpen = false
        release(stops: false, on: loop)
        call.exchange.end(on: loop)
    }

    private func end(on loop: isolated EventLoop) {
        guard isOpen else { return }
        isOpen = false
        release(stops: false, on: loop)
        call.exchange.end(on: loop)
    }

    private func leave(on loop: isolated EventLoop) {
        // A chat that was stopped goes on with the part of the answer that it has.
        if isOpen, case .chunks = form, let text = reader.seen(of: answer.course) {
            answer.door.remember(answer, text, on: loop)
        }
        isOpen = false
        release(stops: stopsRun, on: loop)
    }

    private func release(stops: Bool, on loop: isolated EventLoop) {
        if let timer { loop.cancel(timer) }
        timer = nil
        answer.remove(self, stops: stops, on: loop)
        if holdsSlot { api.open.releaseSlot(of: call.caller) }
        holdsSlot = false
        api.open.remove(self)
    }
}
