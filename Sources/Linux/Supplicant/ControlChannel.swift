import Linux

/// A connection to wpa_supplicant: one command at a time with a time limit, and events in between.
///
/// Commands and events share one socket, because wpa_supplicant keeps their order: an event that arrives before an
/// answer happened before it. This distinguishes the end of the old link from the failure of the new one. Answers have
/// no number. A late answer must not match another command, so a time-out or an answer of the wrong form ends the
/// channel.
@AgentLoop
final class ControlChannel {
    private let requestLimit: Duration
    private let handlers: Handlers
    private var socket: ControlSocket?
    private var questions: [Question] = []
    private var isWaiting = false
    private var deadline: LoopTimer?
    /// Process ID of wpa_supplicant; 0 while unknown.
    private(set) var peer: Int32 = 0

    struct Handlers: Sendable {
        let onEvent: @AgentLoop @Sendable (ControlEvent, Substring) -> Void
        let onPeer: @AgentLoop @Sendable (Int32) -> Void
        /// The channel has ended without `close()`. Its commands fail.
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
    var isAsking: Bool { !questions.isEmpty }

    /// Sends a command after all earlier ones.
    /// - Parameter whenAnswered: called on success, before any event after the answer. The awaiting task continues a
    ///   little later.
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

    /// Ends the channel. Unanswered commands fail with `unavailable`; `onEnd` is not called.
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
        // Handles pending messages first: they do not answer this command.
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
            guard ControlEvent.isEvent(bytes) else { return handleAnswer(bytes) }
            guard let line = ControlEvent.text(of: bytes) else { return }
            handlers.onEvent(ControlEvent(line), line)
        case .oversized:
            // Answers and used events are shorter than this message.
            guard isWaiting, let question = questions.first else { return }
            fail(.malformedReply(command: question.command.name))
        }
    }

    private func handleAnswer(_ bytes: ArraySlice<UInt8>) {
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

    /// Ends the channel. Its commands fail after `onEnd`, so that follow-up commands go to the next channel.
    private func fail(_ error: SupplicantError) {
        guard socket != nil else { return }
        let asked = isWaiting ? questions.removeFirst() : nil
        let others = questions
        questions = []
        close()
        // Deferred, because `ask` may be the caller.
        Task {
            handlers.onEnd()
            asked?.continuation.resume(returning: .failure(error))
            for question in others { question.continuation.resume(returning: .failure(.unavailable)) }
        }
    }
}

extension ControlChannel {
    func status() async throws(SupplicantError) -> SupplicantStatus {
        SupplicantStatus(try await text(.status))
    }

    func words(_ command: ControlCommand) async throws(SupplicantError) -> Set<String> {
        Set(try await text(command).split(whereSeparator: \.isWhitespace).map(String.init))
    }

    func text(_ command: ControlCommand) async throws(SupplicantError) -> String {
        guard case .text(let text) = try await ask(command) else { throw .malformedReply(command: command.name) }
        return text
    }

    func addNetwork() async throws(SupplicantError) -> Int {
        guard case .number(let number) = try await ask(.addNetwork) else {
            throw .malformedReply(command: ControlCommand.addNetwork.name)
        }
        return number
    }

    /// Sends a command and ignores a refusal. Suits optional features, and actions that may already be done.
    func askLeniently(_ command: ControlCommand) async throws(SupplicantError) {
        do throws(SupplicantError) {
            try await ask(command)
        } catch .refused {
        }
    }

    func forgetNetworks() async throws(SupplicantError) {
        try await askLeniently(.disconnect)
        try await askLeniently(.removeAllNetworks)
    }

    func forgetNetworks(except kept: Int) async throws(SupplicantError) {
        // One answer lists a few dozen networks. More than a few rounds indicate an error.
        for _ in 0..<16 {
            let others = NetworkList.numbers(in: try await text(.listNetworks)).filter { $0 != kept }
            guard !others.isEmpty else { return }
            for network in others { try await askLeniently(.removeNetwork(network)) }
        }
    }
}

enum NetworkList {
    /// Parses network numbers: a heading line, then lines like `0<tab>Home<tab>any<tab>[CURRENT]`.
    static func numbers(in text: String) -> [Int] {
        text.split(separator: "\n").dropFirst().compactMap { $0.split(separator: "\t").first.flatMap { Int($0) } }
    }
}

/// Runs one sequence of commands at a time, in the order of arrival. Without it, a clean-up could remove the network
/// that a join is about to select.
@AgentLoop
final class AsyncMutex {
    private var isTaken = false
    private var waiting: [CheckedContinuation<Void, Never>] = []

    func pass<Failure: Error>(_ body: @AgentLoop () async throws(Failure) -> Void) async throws(Failure) {
        if isTaken {
            await withCheckedContinuation { waiting.append($0) }
        } else {
            isTaken = true
        }
        defer {
            if waiting.isEmpty {
                isTaken = false
            } else {
                waiting.removeFirst().resume()
            }
        }
        try await body()
    }
}
