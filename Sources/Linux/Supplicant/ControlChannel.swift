import AgentModel
import Linux

/// A connection to wpa_supplicant: one question at a time, each with a time limit, and the events in between.
///
/// Questions and events share one socket on purpose. wpa_supplicant handles one command after the other and tells what
/// happens in the meantime first, so what arrives before an answer happened before it: only by that order can the end
/// of the old link be told from the failure of the new one.
///
/// Answers carry no number. After a time-out, or an answer that does not fit its question, the channel ends for good,
/// so that a late answer can never answer the wrong question.
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
        /// The channel ended by itself; all its questions fail.
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
    /// Whether an answer is waited for.
    var isAsking: Bool { !questions.isEmpty }

    /// Asks, after all that was asked before.
    ///
    /// - Parameter whenAnswered: called when the command was carried out, before any event that arrived after the
    ///   answer; the task that awaits this goes on a little later.
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

    /// Ends the channel. Questions without an answer get `unavailable`; `onEnd` is not called.
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
        // A message that is there already answers none of the next questions.
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

    /// The channel ends. Its questions fail once `onEnd` has been told: what their askers ask next goes to the channel that
    /// is made in its place.
    private func fail(_ error: SupplicantError) {
        guard socket != nil else { return }
        let asked = isWaiting ? questions.removeFirst() : nil
        let others = questions
        questions = []
        close()
        // Not from within `ask`, whose caller could be surprised.
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

    /// The words of an answer.
    func words(_ command: ControlCommand) async throws(SupplicantError) -> Set<String> {
        Set(try await text(command).split(whereSeparator: \.isWhitespace).map(String.init))
    }

    func text(_ command: ControlCommand) async throws(SupplicantError) -> String {
        guard case .text(let text) = try await ask(command) else { throw .malformedReply(command: command.name) }
        return text
    }

    /// Makes an empty network, and returns its number.
    func addNetwork() async throws(SupplicantError) -> Int {
        guard case .number(let number) = try await ask(.addNetwork) else {
            throw .malformedReply(command: ControlCommand.addNetwork.name)
        }
        return number
    }

    /// For what some builds cannot do, or what is done already: a refusal is as good.
    func askLeniently(_ command: ControlCommand) async throws(SupplicantError) {
        do throws(SupplicantError) {
            try await ask(command)
        } catch .refused {
        }
    }

    /// Ends whatever wpa_supplicant is doing, and has it forget all networks.
    func forgetNetworks() async throws(SupplicantError) {
        try await askLeniently(.disconnect)
        try await askLeniently(.removeAllNetworks)
    }

    /// Has wpa_supplicant forget all networks but one.
    func forgetNetworks(except kept: Int) async throws(SupplicantError) {
        // An answer holds a few dozen networks, so more than one round is rare, and more than a few are an error.
        for _ in 0..<16 {
            let others = NetworkList.numbers(in: try await text(.listNetworks)).filter { $0 != kept }
            guard !others.isEmpty else { return }
            for network in others { try await askLeniently(.removeNetwork(network)) }
        }
    }
}

/// The answer to `LIST_NETWORKS`.
enum NetworkList {
    /// wpa_supplicant's numbers of its networks: after a line of headings, `0<tab>Home<tab>any<tab>[CURRENT]`.
    static func numbers(in text: String) -> [Int] {
        text.split(separator: "\n").dropFirst().compactMap { $0.split(separator: "\t").first.flatMap { Int($0) } }
    }
}

/// Lets one sequence of commands through at a time, in the order of arrival.
///
/// A join takes several commands with waits in between; without this, one that clears up could remove the network that
/// another is about to select.
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
