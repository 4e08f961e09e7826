import Basics
package import POSIX
package import TLS

/// The user of a connection inside the program. All calls come on the connection's loop.
package protocol StreamHandler: AnyObject {
    /// The connect and the TLS handshake, if any, have finished.
    func connected(on loop: isolated EventLoop)
    /// Decrypted bytes, valid during the call only.
    func received(_ bytes: Span<UInt8>, on loop: isolated EventLoop)
    /// The peer will send nothing more; writing to it may still work.
    func receivedEnd(on loop: isolated EventLoop)
    /// The kernel has taken all bytes that had to wait.
    func drained(on loop: isolated EventLoop)
    /// Called once, as the last call; also from within a `send` that finds the peer gone.
    func closed(_ reason: CloseReason, on loop: isolated EventLoop)
}

package enum CloseReason: Error, Sendable {
    /// Closed by our own call.
    case closedHere
    /// The peer left without an orderly end.
    case lost(SystemError)
    case tls(TLSError)
}

package enum SendOutcome: Equatable, Sendable {
    /// The kernel has taken all bytes.
    case sent
    /// Some or all of the bytes wait here; the number is the total that waits now.
    case queued(Int)
    /// No byte was taken: the queue was not empty and would have grown over its limit.
    case overflow
    case closed
}

/// A byte stream over a socket, plain or TLS, owned by a loop. Writes go straight to the kernel while the queue is
/// empty; bytes that the kernel does not take wait in one bounded buffer.
package final class StreamConnection: Pollable {
    private enum State {
        case connecting, open
        /// All queued bytes are sent, then our direction ends and input is discarded until the peer closes.
        case lingering
        case closed
    }

    /// The most input that a lingering close discards, and the longest time it waits for the peer: enough for the peer
    /// to read our last answer instead of a reset, too little to hold up the server.
    private static let lingerBytes = 256 << 10
    package var lingerMilliseconds: Int64 = 2000

    private let socket: Socket
    private let permit: Permit?
    private var interest: Readiness = .readable
    private var tls: TLSSession?
    private var handler: (any StreamHandler)?
    private var registration: Registration?
    private var state: State
    private var wantsInput = true
    private var inputEnded = false
    private var waiting: [UInt8] = []
    private var waitingStart = 0
    private var lingered = 0
    private var lingerTimer: TimerID?
    /// The bytes that the kernel has taken so far. They show whether a peer is slow or stalled.
    package private(set) var takenBytes: UInt64 = 0

    /// The most bytes that may wait, counted as sent.
    package var sendLimit: Int

    /// For an accepted socket. `isConnected` is false if the connect is still in progress.
    /// - Parameter permit: asked before each write; without it nothing is sent, and the kernel does not send either what it has taken.
    package init(
        _ socket: consuming Socket,
        tls: TLSSession? = nil,
        isConnected: Bool = true,
        sendLimit: Int,
        permit: Permit? = nil
    ) {
        if let permit { socket.dropUnsent(afterMs: permit.marginMs) }
        self.socket = socket
        self.permit = permit
        self.tls = tls
        self.sendLimit = sendLimit
        state = isConnected ? .open : .connecting
    }

    /// Starts reading; the handler is kept until the connection closes.
    package func start(_ handler: any StreamHandler, on loop: isolated EventLoop) throws(SystemError) {
        self.handler = handler
        interest = state == .connecting ? .writable : .readable
        do throws(SystemError) {
            registration = try loop.watch(socket.descriptor, for: interest, owner: self)
        } catch {
            self.handler = nil
            state = .closed
            throw error
        }
    }

    package var isOpen: Bool { state == .open }
    package var waitingBytes: Int { waiting.count - waitingStart }
    package var session: TLSSession? { tls }
    var peerAddress: SocketAddress? { socket.peerAddress }
    package var localAddress: SocketAddress? { socket.localAddress }
    package var unsentBytes: Int? { socket.unsentBytes.map { $0 + waitingBytes } }

    // MARK: Sending

    /// An empty queue accepts a piece of any size: a piece above the limit could never be sent otherwise.
    package func hasRoom(for count: Int) -> Bool { waitingBytes == 0 || waitingBytes + count <= sendLimit }

    package func send(_ bytes: Span<UInt8>, on loop: isolated EventLoop) -> SendOutcome {
        guard state == .open else { return .closed }
        if let tls { return sendEncrypted(bytes, tls, on: loop) }
        if waitingBytes > 0 { return enqueue(bytes, from: 0, on: loop) }
        switch write(bytes) {
        case .moved(let count):
            takenBytes &+= UInt64(count)
            return count == bytes.count ? .sent : enqueue(bytes, from: count, on: loop)
        case .wouldBlock, .ended: return enqueue(bytes, from: 0, on: loop)
        case .failed(let error):
            fail(.lost(error), on: loop)
            return .closed
        }
    }

    package func send(_ bytes: [UInt8], on loop: isolated EventLoop) -> SendOutcome {
        let span = bytes.span
        return send(span, on: loop)
    }

    private func enqueue(_ bytes: Span<UInt8>, from start: Int, on loop: isolated EventLoop) -> SendOutcome {
        // A piece that the kernel has taken in part must be finished.
        guard start > 0 || hasRoom(for: bytes.count) else { return .overflow }
        compact()
        waiting.append(copying: bytes, from: start)
        updateInterest(on: loop)
        return .queued(waitingBytes)
    }

    private func sendEncrypted(_ bytes: Span<UInt8>, _ tls: TLSSession, on loop: isolated EventLoop) -> SendOutcome {
        guard hasRoom(for: bytes.count) else { return .overflow }
        do throws(TLSError) {
            try tls.write(plaintext: bytes)
        } catch {
            fail(.tls(error), on: loop)
            return .closed
        }
        return flushEncrypted(tls, on: loop)
    }

    /// If bytes wait already, the new ones wait behind them, as in cleartext; only `drained` reports an empty queue.
    private func flushEncrypted(_ tls: TLSSession, on loop: isolated EventLoop) -> SendOutcome {
        let hasWaited = waitingBytes > 0
        if tls.hasOutput {
            compact()
            tls.takeOutput(into: &waiting)
        }
        return hasWaited ? .queued(waitingBytes) : flush(on: loop)
    }

    /// Writes the waiting bytes.
    private func flush(on loop: isolated EventLoop) -> SendOutcome {
        while waitingBytes > 0 {
            switch write(waiting.span.extracting(waitingStart..<waiting.count)) {
            case .moved(let count):
                waitingStart += count
                takenBytes &+= UInt64(count)
            case .wouldBlock, .ended:
                updateInterest(on: loop)
                return .queued(waitingBytes)
            case .failed(let error):
                fail(.lost(error), on: loop)
                return .closed
            }
        }
        waitingStart = 0
        // The memory is released too: among ten thousand readers each must wait at some time, and few do at once.
        waiting = []
        updateInterest(on: loop)
        return .sent
    }

    private func write(_ bytes: Span<UInt8>) -> Transfer {
        guard permit?.holds != false else { return .failed(.notPermitted("write to a socket")) }
        return socket.write(bytes)
    }

    private func compact() {
        guard waitingStart > 0, waitingStart >= waiting.count / 2 else { return }
        waiting.removeSubrange(..<waitingStart)
        waitingStart = 0
    }

    // MARK: Receiving

    /// Slows the peer down: the kernel's buffer fills up and the TCP window closes.
    package func pauseInput(on loop: isolated EventLoop) {
        wantsInput = false
        updateInterest(on: loop)
    }

    package func resumeInput(on loop: isolated EventLoop) {
        wantsInput = true
        updateInterest(on: loop)
    }

    package func ready(_ readiness: Readiness, on loop: isolated EventLoop) {
        if state == .connecting { return finishConnect(on: loop) }
        if readiness.has(.writable), waitingBytes > 0, flush(on: loop) == .sent {
            if state == .lingering { endOutput(on: loop) } else { handler?.drained(on: loop) }
        }
        if readiness.has(.readable) || (readiness.has(.hangup) && interest.has(.readable)) {
            receive(on: loop)
        } else if readiness.has(.hangup) {
            fail(.lost(socket.connectError() ?? SystemError(number: 0, attempt: "reach the peer")), on: loop)
        }
    }

    private func finishConnect(on loop: isolated EventLoop) {
        if let error = socket.connectError() { return fail(.lost(error), on: loop) }
        state = .open
        updateInterest(on: loop)
        guard let tls else {
            handler?.connected(on: loop)
            return
        }
        _ = flushEncrypted(tls, on: loop)
    }

    private func receive(on loop: isolated EventLoop) {
        guard state != .closed, !inputEnded, wantsInput || state == .lingering else { return }
        switch socket.read(into: loop.readBuffer) {
        case .moved(let count):
            if state == .lingering {
                lingered += count
                if lingered > Self.lingerBytes { fail(.closedHere, on: loop) }
            } else if let tls {
                loop.readBuffer.withPrefix(count) { decrypt($0, tls, on: loop) }
            } else {
                loop.readBuffer.withPrefix(count) { handler?.received($0, on: loop) }
            }
        case .wouldBlock: return
        case .ended: inputOver(on: loop)
        case .failed(let error): fail(.lost(error), on: loop)
        }
    }

    private func decrypt(_ bytes: Span<UInt8>, _ tls: TLSSession, on loop: isolated EventLoop) {
        let wasComplete = tls.handshakeComplete
        let count: Int
        do throws(TLSError) {
            count = try loop.plainBuffer.refill { (plain) throws(TLSError) in
                try tls.receive(ciphertext: bytes, into: &plain)
            }
        } catch {
            // Sends the TLS alert with the reason first.
            _ = flushEncrypted(tls, on: loop)
            return fail(.tls(error), on: loop)
        }
        if tls.hasOutput, flushEncrypted(tls, on: loop) == .closed { return }
        if !wasComplete, tls.handshakeComplete { handler?.connected(on: loop) }
        if count > 0, state == .open { loop.plainBuffer.withPrefix(count) { handler?.received($0, on: loop) } }
        if tls.peerClosed, state == .open, !inputEnded { inputOver(on: loop) }
    }

    private func inputOver(on loop: isolated EventLoop) {
        inputEnded = true
        if state == .lingering {
            // A peer that has ended its own direction may still read the waiting bytes.
            if waitingBytes == 0 { return fail(.closedHere, on: loop) }
            return updateInterest(on: loop)
        }
        updateInterest(on: loop)
        handler?.receivedEnd(on: loop)
    }

    // MARK: Closing

    /// Closes at once; waiting bytes are lost.
    package func close(on loop: isolated EventLoop) {
        fail(.closedHere, on: loop)
    }

    /// Closes after all queued bytes are sent; the handler's `closed` comes at the very end.
    package func closeWhenSent(on loop: isolated EventLoop) {
        guard state == .open else { return }
        if let tls {
            tls.close()
            if flushEncrypted(tls, on: loop) == .closed { return }
        }
        state = .lingering
        if waitingBytes == 0 { endOutput(on: loop) } else { updateInterest(on: loop) }
    }

    private func endOutput(on loop: isolated EventLoop) {
        if inputEnded { return fail(.closedHere, on: loop) }
        socket.endWriting()
        updateInterest(on: loop)
        armLinger(on: loop)
    }

    private func armLinger(on loop: isolated EventLoop) {
        if let lingerTimer { loop.cancel(lingerTimer) }
        lingerTimer = loop.after(milliseconds: lingerMilliseconds) { self.fail(.closedHere, on: loop) }
    }

    /// A close waits for the peer no longer than this from now on, also one that waits already.
    package func limitLinger(toMilliseconds most: Int64, on loop: isolated EventLoop) {
        lingerMilliseconds = min(lingerMilliseconds, most)
        if lingerTimer != nil { armLinger(on: loop) }
    }

    private func fail(_ reason: CloseReason, on loop: isolated EventLoop) {
        guard state != .closed else { return }
        state = .closed
        if let lingerTimer { loop.cancel(lingerTimer) }
        lingerTimer = nil
        if let registration { loop.forget(registration, of: socket.descriptor) }
        registration = nil
        waiting = []
        waitingStart = 0
        tls = nil
        let last = handler
        handler = nil
        last?.closed(reason, on: loop)
    }

    private func updateInterest(on loop: isolated EventLoop) {
        // While connecting, only writability counts: it marks the end of the connect.
        guard let registration, state != .connecting else { return }
        let wanted = Readiness(
            readable: !inputEnded && (wantsInput || state == .lingering),
            writable: waitingBytes > 0
        )
        guard wanted.rawValue != interest.rawValue else { return }
        interest = wanted
        loop.change(registration, of: socket.descriptor, to: wanted)
    }
}
