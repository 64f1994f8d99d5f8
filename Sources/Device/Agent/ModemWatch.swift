import AgentModel
import AppProtocol
import Linux
import Logging

/// When root's helper is asked about the modems, and what is known of them.
struct ModemSchedule {
    /// Between two questions while there is a modem to ask about.
    static let interval = Duration.seconds(30)
    /// A question of an app asks anew if the last answer is older.
    static let freshness = Duration.seconds(10)
    /// Between two questions at the least, however much changes.
    static let shortestPause = Duration.seconds(2)
    /// Between two questions where ModemManager knows no modem of the device's: the pause doubles up to it.
    static let longestPause = Duration.seconds(480)
    /// Until what was known is forgotten where the helper has not answered since.
    static let memory = Duration.seconds(90)

    enum Action: Equatable {
        case ask
        /// In place of the time that was set before.
        case wait(until: Instant)
        case stopWaiting
    }

    /// The cellular interfaces that are up, with their addresses.
    private(set) var interfaces: [String: Set<String>] = [:]
    private var answer: (modems: [ModemReport], time: Instant)?
    /// When the last question began.
    private var asked: Instant?
    private var isAsking = false
    /// Whether something has changed since the question under way began.
    private var isStale = false
    private var pause = ModemSchedule.interval

    /// - Parameter new: the cellular interfaces that are up, with their addresses.
    mutating func follow(_ new: [String: Set<String>], at now: Instant) -> Action? {
        guard new != interfaces else { return nil }
        interfaces = new
        guard !new.isEmpty else {
            answer = nil
            return .stopWaiting
        }
        pause = Self.interval
        guard !isAsking else {
            isStale = true
            return nil
        }
        return askSoon(at: now)
    }

    /// An app wants to know.
    mutating func query(at now: Instant) -> Action? {
        guard !interfaces.isEmpty, !isAsking, let answer, !known.isEmpty, now - answer.time >= Self.freshness else {
            return nil
        }
        return askSoon(at: now)
    }

    /// The time that was waited for has come.
    mutating func due(at now: Instant) -> Action? {
        guard !interfaces.isEmpty, !isAsking else { return nil }
        return ask(at: now)
    }

    /// - Parameter modems: nil where the helper gave no answer.
    mutating func ended(_ modems: [ModemReport]?, at now: Instant) -> Action? {
        isAsking = false
        if let modems {
            answer = interfaces.isEmpty ? nil : (modems, now)
        } else if let known = answer, now - known.time >= Self.memory {
            answer = nil
        }
        guard !interfaces.isEmpty else { return nil }
        if isStale { return askSoon(at: now) }
        let wait = pause
        pause = modems != nil && !known.isEmpty ? Self.interval : min(pause * 2, Self.longestPause)
        return .wait(until: now + (modems != nil && !known.isEmpty ? Self.interval : wait))
    }

    private mutating func askSoon(at now: Instant) -> Action {
        if let asked, now - asked < Self.shortestPause { return .wait(until: asked + Self.shortestPause) }
        return ask(at: now)
    }

    private mutating func ask(at now: Instant) -> Action {
        (asked, isAsking, isStale) = (now, true, false)
        return .ask
    }

    // MARK: What is known

    private var known: [(interface: String, modem: ModemReport)] {
        interfaces.keys.sorted().compactMap { interface in
            ModemReport.modem(of: interface, among: answer?.modems ?? []).map { (interface, $0) }
        }
    }

    /// The interfaces whose modem has no connection.
    var disconnected: Set<String> {
        Set(known.filter { $0.modem.isConnected($0.interface) == false }.map(\.interface))
    }

    /// The modem of an interface, or of the first that has one.
    /// - Parameter interface: the one that carries the traffic.
    func status(carrying interface: String?) -> ModemStatus? {
        let known = known
        let found = known.first { $0.interface == interface } ?? known.first
        return found.map { $0.modem.status(of: $0.interface) }
    }
}

/// Knows how the modems of the device's cellular interfaces do, through root's helper, which asks ModemManager.
/// Nothing is asked while there is no such interface, and nothing waits for an answer.
@AgentLoop
public final class ModemWatch {
    /// Where the package's unit has the helper's socket.
    public static nonisolated let packagedSocket = "/run/altnet-modem.sock"
    /// Until a question without an answer has failed: ModemManager waits for modems.
    static nonisolated let answerLimit = Duration.seconds(20)

    private let path: String
    private let say: @AgentLoop @Sendable (Logger.Level, String) -> Void
    private let onChange: @AgentLoop () -> Void
    private var schedule = ModemSchedule()
    private var exchange: HelperExchange?
    private var timer: LoopTimer?
    /// The last fault that was told.
    private var told: String?
    private var connected: Bool?

    /// - Parameters:
    ///   - path: the helper's socket.
    ///   - say: takes lines for the log.
    ///   - onChange: is called when something is known that was not.
    public init(
        socket path: String = packagedSocket, say: @escaping @AgentLoop @Sendable (Logger.Level, String) -> Void,
        onChange: @escaping @AgentLoop () -> Void
    ) {
        (self.path, self.say, self.onChange) = (path, say, onChange)
    }

    /// - Parameter interfaces: the cellular interfaces that are up, with their addresses.
    public func follow(_ interfaces: [String: Set<String>]) {
        changing { $0.follow(interfaces, at: .now) }
    }

    /// An app wants to know: what is known is old news in some seconds.
    public func query() { changing { $0.query(at: .now) } }

    /// The interfaces whose modem has no connection.
    public var disconnected: Set<String> { schedule.disconnected }

    /// - Parameter interface: the one that carries the traffic.
    public func status(carrying interface: String?) -> ModemStatus? { schedule.status(carrying: interface) }

    /// Carries out what the schedule wants, and tells what has changed by it.
    private func changing(_ step: (inout ModemSchedule) -> ModemSchedule.Action?) {
        let before = (schedule.disconnected, schedule.status(carrying: nil))
        let action = step(&schedule)
        let after = (schedule.disconnected, schedule.status(carrying: nil))
        if before != after {
            sayWhetherConnected(after.1)
            onChange()
        }
        switch action {
        case .ask: ask()
        case .wait(let moment):
            timer = LoopTimer(after: moment - .now) { [weak self] in self?.changing { $0.due(at: .now) } }
        case .stopWaiting: timer = nil
        case nil: break
        }
    }

    private func ask() {
        timer = nil
        let began = HelperExchange.begin(
            "", to: path, within: Self.answerLimit, longestAnswer: ModemReport.longestAnswer + 1, isLine: false
        ) { [weak self] in self?.finish($0) }
        switch began {
        case .success(let exchange): self.exchange = exchange
        case .failure(let failure): finish(.failure(failure))
        }
    }

    private func finish(_ answer: Result<[UInt8], HelperFailure>) {
        exchange = nil
        var modems: [ModemReport]?
        switch answer {
        case .success(let bytes):
            do throws(ModemReportError) {
                modems = try ModemReport.read(bytes)
                told = nil
            } catch {
                complain("\(error)")
            }
        // Without the helper nothing is known of modems, which is all that there is to it.
        case .failure(.notThere): break
        case .failure(.silent): complain("the modem's helper does not answer")
        case .failure(.failed(let reason)): complain(reason)
        }
        changing { $0.ended(modems, at: .now) }
    }

    private func complain(_ fault: String) {
        if told != fault { say(.warning, "the modem is not asked, which is tried again: \(fault)") }
        told = fault
    }

    private func sayWhetherConnected(_ status: ModemStatus?) {
        let isConnected = status.map { $0.state == .connected }
        guard isConnected != connected else { return }
        connected = isConnected
        guard let status, let isConnected else { return }
        let network = [status.technology?.rawValue, status.operator].compactMap(\.self).joined(separator: ", ")
        let state = isConnected ? "connected" : "not connected (\(status.state.rawValue))"
        let suffix = network.isEmpty ? "" : ": \(network)"
        say(.notice, "the modem of \(status.interface) is \(state)\(suffix)")
    }
}
