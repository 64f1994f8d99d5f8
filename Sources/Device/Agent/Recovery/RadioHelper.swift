import AgentModel
import Linux

@AgentLoop
final class RadioHelper {
    /// Path of the helper's socket in the package's unit.
    static nonisolated let packagedSocket = "/run/altnet-radio.sock"
    /// Time limit of an answer, long enough for a driver to load its firmware.
    private static nonisolated let answerLimit = Duration.seconds(40)
    /// Maximum length of an answer in bytes.
    private static nonisolated let longestAnswer = 512

    enum Question {
        case remember(String)
        case rebind(String)
        case reboot

        var text: String {
            switch self {
            case .remember(let interface): "note \(interface)\n"
            case .rebind(let interface): "rebind \(interface)\n"
            case .reboot: "reboot\n"
            }
        }
    }

    private var exchanges: [UInt64: HelperExchange] = [:]
    private var count: UInt64 = 0

    /// - Parameter onEnd: called once with the problem; nil after success.
    func ask(_ question: Question, onEnd: @escaping (String?) -> Void) {
        count += 1
        let number = count
        let began = HelperExchange.begin(
            question.text, to: Self.packagedSocket, within: Self.answerLimit, longestAnswer: Self.longestAnswer,
            isLine: true
        ) { [weak self] answer in
            self?.exchanges[number] = nil
            onEnd(Self.problem(in: answer))
        }
        switch began {
        case .success(let exchange): exchanges[number] = exchange
        case .failure(let failure): onEnd(Self.problem(in: .failure(failure)))
        }
    }

    /// Parses the helper's line: "ok", or "refused" and the reason. Returns the problem; nil for "ok".
    static nonisolated func problem(in answer: Result<[UInt8], HelperFailure>) -> String? {
        switch answer {
        case .success(let bytes):
            let line = String(decoding: bytes.prefix { $0 != UInt8(ascii: "\n") }, as: UTF8.self)
            if line == "ok" { return nil }
            return line.hasPrefix("refused ")
                ? line.dropFirst(8).description.printable
                : "the helper ended without an answer: see journalctl -u 'altnet-radio@*'"
        case .failure(.notThere(let path)): return "nothing listens at \(path): run systemctl start altnet-radio.socket"
        case .failure(.silent): return "the helper does not answer"
        case .failure(.failed(let reason)): return reason
        }
    }
}
