import AgentModel
import Linux
import Logging

/// Name servers and search domains of all interfaces.
struct ResolverRequest: Equatable {
    struct Entry: Equatable {
        var nameServers: [IPAddress]
        var searchDomains: [String]
        var carriesTraffic: Bool
    }

    /// Maximum number of servers, enough for every resolver.
    static let maximumServers = 8
    static let maximumDomains = 6

    var entries: [String: Entry] = [:]

    /// Text for root's helper (board/systemd/altnet-resolver). Omits invalid entries, because the helper would refuse
    /// the whole text. The interface with the traffic is at the top. Only its search domains are included, so that
    /// names are looked up in its network.
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

    /// Returns true if the address is that of a single host other than the device.
    private static func isHost(_ address: IPAddress) -> Bool {
        let isReserved = address.isIPv4 && (address.bytes[0] == 0 || address.bytes[0] >= 224)
        return !address.isUnspecified && !address.isLoopback && !address.isMulticast && !isReserved
    }

    /// Returns true if the domain has labels of 1 to 63 letters, digits, hyphens and underscores that do not begin with
    /// a hyphen.
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
    fileprivate var unique: [Element] {
        var seen: Set<Element> = []
        return filter { seen.insert($0).inserted }
    }
}

/// Passes the name servers of networks to the device's programs, through root's helper.
///
/// Each request has the whole state, so a lost answer does no harm. Changes in quick succession are one request. The
/// next request waits for the answer. systemd owns the helper's socket, so a process runs only for a change.
@AgentLoop
public final class SystemResolver {
    /// Path of the helper's socket in the package's unit.
    public static nonisolated let packagedSocket = "/run/altnet-resolver.sock"
    /// Time limit of an answer. The helper may wait for other programs.
    static nonisolated let answerLimit = Duration.seconds(20)
    /// Maximum length of an answer in bytes.
    private static nonisolated let longestAnswer = 512
    /// Pauses after failures. They double from the shortest to the longest.
    static nonisolated let shortestPause = Duration.seconds(1)
    static nonisolated let longestPause = Duration.seconds(64)

    private let path: String
    private let log: @AgentLoop @Sendable (Logger.Level, String) -> Void
    private var request = ResolverRequest()
    private var done: String?
    private var exchange: HelperExchange?
    private var timer: LoopTimer?
    private var pause = SystemResolver.shortestPause
    private var lastReported: String?

    /// - Parameters:
    ///   - path: path of the helper's socket.
    ///   - log: called with log lines.
    public init(
        socket path: String = packagedSocket, log: @escaping @AgentLoop @Sendable (Logger.Level, String) -> Void
    ) {
        self.path = path
        self.log = log
    }

    /// Replaces the name servers of an interface.
    /// - Parameters:
    ///   - nameServers: addresses in order of use; the first eight valid ones count. Link-local addresses use this
    ///     interface.
    ///   - searchDomains: the first six valid ones count, and only if the interface carries the traffic.
    ///   - carriesTraffic: true to prefer these name servers to those of other interfaces.
    public func set(interface: String, nameServers: [IPAddress], searchDomains: [String], carriesTraffic: Bool) {
        request.entries[interface] = ResolverRequest.Entry(
            nameServers: nameServers, searchDomains: searchDomains, carriesTraffic: carriesTraffic)
        change()
    }

    public func clear(interface: String) {
        request.entries[interface] = nil
        change()
    }

    private func change() {
        // End the back-off: the helper may have refused only the earlier state.
        pause = Self.shortestPause
        // Wait for further changes in this round of the loop.
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
            if lastReported != place { log(.notice, "name servers are set in \(place)") }
            lastReported = place
            send()
        case .failure(let failure): fail(failure)
        }
    }

    private func fail(_ failure: ResolverFailure) {
        // The helper may have performed a part of the request.
        done = nil
        if lastReported != failure.reason {
            log(.warning, "cannot set the name servers, retrying: \(failure.reason)")
        }
        lastReported = failure.reason
        timer = LoopTimer(after: pause) { [weak self] in self?.send() }
        pause = min(pause * 2, Self.longestPause)
    }
}

struct ResolverFailure: Error, Equatable {
    let reason: String

    /// Parses the helper's line: "ok" and the place of the name servers, or "refused" and the reason.
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
            ResolverFailure(reason: "the helper ended without an answer: see journalctl -u 'altnet-resolver@*'"))
    }
}

extension ResolverFailure {
    fileprivate init(_ failure: HelperFailure) {
        reason =
            switch failure {
            case .notThere(let path): "nothing listens at \(path): run systemctl start altnet-resolver.socket"
            case .silent: "the helper does not answer"
            case .failed(let reason): reason
            }
    }
}
