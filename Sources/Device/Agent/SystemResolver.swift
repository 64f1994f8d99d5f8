import AgentModel
import Linux
import Logging

/// What the device's programs are to ask for names, of all interfaces together.
struct ResolverRequest: Equatable {
    /// What one interface's network tells.
    struct Entry: Equatable {
        var nameServers: [IPAddress]
        var searchDomains: [String]
        var carriesTraffic: Bool
    }

    /// No resolver of a device uses more.
    static let maximumServers = 8
    static let maximumDomains = 6

    var entries: [String: Entry] = [:]

    /// The text for root's helper (board/systemd/altnet-resolver), which has it all or nothing: so it has nothing that the
    /// helper would refuse. The interface that carries the traffic comes first, and its search domains alone count:
    /// a domain draws names to the network that tells it.
    var text: String {
        let ordered = entries.sorted {
            ($0.value.carriesTraffic ? 0 : 1, $0.key) < ($1.value.carriesTraffic ? 0 : 1, $1.key)
        }
        var lines = ["altnet-resolver 1"]
        for (interface, entry) in ordered where interface.isInterfaceName {
            lines.append("interface \(interface)")
            if entry.carriesTraffic { lines.append("carries") }
            lines += entry.nameServers.filter(Self.isHost).unique.prefix(Self.maximumServers).map { "server \($0)" }
            guard entry.carriesTraffic else { continue }
            lines += entry.searchDomains.filter(Self.isDomain).unique.prefix(Self.maximumDomains)
                .map { "domain \($0)" }
        }
        return (lines + ["end", ""]).joined(separator: "\n")
    }

    /// Not the device itself, and one host.
    private static func isHost(_ address: IPAddress) -> Bool {
        let isReserved = address.isIPv4 && (address.bytes[0] == 0 || address.bytes[0] >= 224)
        return !address.isUnspecified && !address.isLoopback && !address.isMulticast && !isReserved
    }

    /// Labels of letters, digits, hyphens and underscores, 1 to 63 bytes each, that begin with no hyphen.
    private static func isDomain(_ name: String) -> Bool {
        let labels = name.utf8.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
        return name.utf8.count <= 253
            && labels.allSatisfy { label in
                (1...63).contains(label.count) && label.first != UInt8(ascii: "-")
                    && label.allSatisfy { byte in
                        switch byte {
                        case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                            UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "-"), UInt8(ascii: "_"):
                            true
                        default: false
                        }
                    }
            }
    }
}

extension Sequence where Element: Hashable {
    /// Each element once, in the order of the first.
    fileprivate var unique: [Element] {
        var seen: Set<Element> = []
        return filter { seen.insert($0).inserted }
    }
}

/// Tells the device's programs the name servers of its networks, through root's helper.
///
/// Each question has the whole state, so an answer that is lost costs nothing. A burst of changes is one question, and
/// while one is under way the next waits. The helper's socket is systemd's: a program runs only while something changes.
@AgentLoop
public final class SystemResolver {
    /// Where the package's unit has the helper's socket.
    public static nonisolated let packagedSocket = "/run/altnet-resolver.sock"
    /// Until a question without an answer has failed: the helper may wait for other programs.
    static nonisolated let answerLimit = Duration.seconds(20)
    /// In bytes, of an answer.
    private static nonisolated let longestAnswer = 512
    /// After a failure; doubles up to the longest.
    static nonisolated let shortestPause = Duration.seconds(1)
    static nonisolated let longestPause = Duration.seconds(64)

    private let path: String
    private let say: @AgentLoop @Sendable (Logger.Level, String) -> Void
    private var request = ResolverRequest()
    /// What the helper has carried out.
    private var done: String?
    private var exchange: HelperExchange?
    private var timer: LoopTimer?
    private var pause = SystemResolver.shortestPause
    private var told: String?

    /// - Parameters:
    ///   - path: the helper's socket.
    ///   - say: takes lines for the log.
    public init(
        socket path: String = packagedSocket, say: @escaping @AgentLoop @Sendable (Logger.Level, String) -> Void
    ) {
        self.path = path
        self.say = say
    }

    /// What an interface's network tells, in place of what it told before.
    /// - Parameters:
    ///   - nameServers: in the order in which they are to be asked; a link-local one is on this interface. What is no
    ///     host is left out, and so is what is beyond the eighth.
    ///   - searchDomains: where short names are looked for, at most six; of the interface that carries the traffic.
    ///   - carriesTraffic: whether its name servers come first.
    public func set(interface: String, nameServers: [IPAddress], searchDomains: [String], carriesTraffic: Bool) {
        request.entries[interface] = ResolverRequest.Entry(
            nameServers: nameServers, searchDomains: searchDomains, carriesTraffic: carriesTraffic)
        change()
    }

    /// The interface has no network any more.
    public func clear(interface: String) {
        request.entries[interface] = nil
        change()
    }

    private func change() {
        // The change may be what the helper refused: it is asked at once.
        pause = Self.shortestPause
        // After whatever else changes in this round of the loop.
        if exchange == nil { timer = LoopTimer(after: .zero) { [weak self] in self?.send() } }
    }

    private func send() {
        timer = nil
        let text = request.text
        guard exchange == nil, text != done else { return }
        let began = HelperExchange.begin(
            text, to: path, within: Self.answerLimit, longestAnswer: Self.longestAnswer, isLine: true
        ) { [weak self] answer in self?.finish(text, ResolverFailure.read(answer)) }
        switch began {
        case .success(let exchange): self.exchange = exchange
        case .failure(let failure): fail(ResolverFailure(failure))
        }
    }

    private func finish(_ text: String, _ result: Result<String, ResolverFailure>) {
        exchange = nil
        switch result {
        case .success(let place):
            done = text
            pause = Self.shortestPause
            if told != place { say(.notice, "name servers go to \(place)") }
            told = place
            send()
        case .failure(let failure): fail(failure)
        }
    }

    private func fail(_ failure: ResolverFailure) {
        // What the helper has done of it is not known.
        done = nil
        if told != failure.reason {
            say(.warning, "programs are not told the name servers, which is tried again: \(failure.reason)")
        }
        told = failure.reason
        timer = LoopTimer(after: pause) { [weak self] in self?.send() }
        pause = min(pause * 2, Self.longestPause)
    }
}

struct ResolverFailure: Error, Equatable {
    let reason: String

    /// The helper's last line: "ok" with where the name servers went, or "refused" with the reason.
    static func read(_ answer: Result<[UInt8], HelperFailure>) -> Result<String, ResolverFailure> {
        answer.mapError(ResolverFailure.init).flatMap { read($0) }
    }

    static func read(_ answer: some Sequence<UInt8>) -> Result<String, ResolverFailure> {
        let line = String(decoding: answer.prefix { $0 != UInt8(ascii: "\n") }, as: UTF8.self)
        if line.hasPrefix("ok ") { return .success(line.dropFirst(3).description.printable) }
        if line.hasPrefix("refused ") {
            return .failure(ResolverFailure(reason: line.dropFirst(8).description.printable))
        }
        return .failure(
            ResolverFailure(reason: "the helper ended without an answer: journalctl -u 'altnet-resolver@*'"))
    }
}

extension ResolverFailure {
    fileprivate init(_ failure: HelperFailure) {
        reason =
            switch failure {
            case .notThere(let path): "nothing listens at \(path): systemctl start altnet-resolver.socket"
            case .silent: "the helper does not answer"
            case .failed(let reason): reason
            }
    }
}
