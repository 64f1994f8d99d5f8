import AgentModel
import Linux

/// A conversation with wpa_supplicant: one question at a time, each with a time limit, and the events in between.
///
/// Questions and events share one socket on purpose. wpa_supplicant handles one command after the other and tells what
/// happens in the meantime first, so what arrives before an answer happened before it: only by that order can the end of
/// the old link be told from the failure of the new one.
///
/// Answers carry no number. After a time-out, or an answer that does not fit its question, the channel ends for good, so
/// that a late answer can never answer the wrong question.
@AgentLoop
final class ControlChannel {
    private let requestLimit: Duration
    private let handlers: Handlers
    private var socket: ControlSocket?
    private var questions: [Question] = []
    private var isWaiting = false
    private var deadline: LoopTimer?
    /// The process at the other end, or 0 while the kernel has not told.
    private(set) var peer: Int32 = 0

    struct Handlers: Sendable {
        /// An event, and its line.
        let onEvent: @AgentLoop @Sendable (ControlEvent, Substring) -> Void
        /// The process at the other end is known now.
        let onPeer: @AgentLoop @Sendable (Int32) -> Void
        /// The channel ended by itself; all its questions have failed.
        let onEnd: @AgentLoop @Sendable () -> Void
    }

    private struct Question {
        let command: ControlCommand
        let whenAnswered: (@AgentLoop (ControlAnswer) -> Void)?
        let continuation: CheckedContinuation<Result<ControlAnswer, SupplicantError>, Never>
    }

    init(path: String, replyDirectory: String?, requestLimit: Duration, handlers: Handlers) throws(SupplicantError) {
        self.requestLimit = requestLimit
        self.handlers = handlers
        socket = try ControlSocket(path: path, replyDirectory: replyDirectory) { [weak self] in self?.receive() }
    }

    var isOpen: Bool { socket != nil }

    /// Asks, after all that was asked before.
    ///
    /// - Parameter whenAnswered: called when the command was carried out, before any event that arrived after the answer;
    ///   whoever awaits this goes on a little later.
    @discardableResult
    func ask(
        _ command: ControlCommand, whenAnswered: (@AgentLoop (ControlAnswer) -> Void)? = nil
    ) async throws(SupplicantError) -> ControlAnswer {
        guard socket != nil else { throw .unavailable }
        return try await withCheckedContinuation { continuation in
            questions.append(Question(command: command, whenAnswered: whenAnswered, continuation: continuation))
            sendNext()
        }.get()
    }

    /// Ends the conversation. Whoever still waits for an answer gets `unavailable`; `onEnd` is not called.
    func close() {
        socket?.close()
        socket = nil
        deadline = nil
        let unanswered = questions
        questions = []
        for question in unanswered { question.continuation.resume(returning: .failure(.unavailable)) }
    }

    private func sendNext() {
        guard !isWaiting, let question = questions.first else { return }
        // What is there already answers nothing that is still to be asked.
        receive()
        guard let socket else { return }
        isWaiting = true
        deadline = LoopTimer(after: requestLimit) { [weak self] in
            self?.fail(.timedOut(command: question.command.name))
        }
        do throws(SupplicantError) {
            try question.command.withBytes { bytes throws(SupplicantError) in try socket.send(bytes) }
        } catch {
            fail(error)
        }
    }

    private func receive() {
        while let socket {
            do throws(SupplicantError) {
                guard let arrival = try socket.receive() else { return }
                handle(arrival)
            } catch {
                return fail(error)
            }
        }
    }

    private func handle(_ arrival: ControlSocket.Arrival) {
        switch arrival {
        case .datagram(let bytes, let sender):
            if sender != peer, sender > 0 {
                peer = sender
                handlers.onPeer(sender)
            }
            guard ControlEvent.isEvent(bytes) else { return answered(bytes) }
            guard let line = ControlEvent.text(of: bytes) else { return }
            handlers.onEvent(ControlEvent(line), line)
        case .oversized:
            // No event that matters is that long, and no answer either.
            guard isWaiting, let question = questions.first else { return }
            fail(.malformedReply(command: question.command.name))
        }
    }

    private func answered(_ bytes: ArraySlice<UInt8>) {
        guard isWaiting, let question = questions.first else { return }
        let result: Result<ControlAnswer, SupplicantError>
        do throws(SupplicantError) {
            let answer = try ControlAnswer(bytes, to: question.command)
            question.whenAnswered?(answer)
            result = .success(answer)
        } catch .malformedReply(let command) {
            return fail(.malformedReply(command: command))
        } catch {
            result = .failure(error)
        }
        questions.removeFirst()
        isWaiting = false
        deadline = nil
        question.continuation.resume(returning: result)
        sendNext()
    }

    private func fail(_ error: SupplicantError) {
        guard socket != nil else { return }
        if isWaiting {
            questions.removeFirst().continuation.resume(returning: .failure(error))
        }
        close()
        // Not from within `ask`, whose caller could be surprised.
        Task { handlers.onEnd() }
    }
}
