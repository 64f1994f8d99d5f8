import AgentModel
import AppProtocol
import Linux
import Logging

/// Schedules the requests to root's helper and stores its last answer.
struct ModemSchedule {
    /// Time between two requests while a modem is known.
    static let interval = Duration.seconds(30)
    /// Age of the last answer from which an app's request causes a new request to the helper.
    static let freshness = Duration.seconds(10)
    /// Shortest time between two requests.
    static let shortestPause = Duration.seconds(2)
    /// Longest time between two requests while no modem is known. The time doubles up to this limit.
    static let longestPause = Duration.seconds(480)
    /// Time without an answer after which the last answer is dropped.
    static let memory = Duration.seconds(90)

    enum Effect: Equatable {
        case ask
        case wait(until: Instant)
        case stopWaiting
    }

    private(set) var interfaces: [String: Set<String>] = [:]
    private var answer: (modems: [ModemReport], time: Instant)?
    private var asked: Instant?
    private var isAsking = false
    /// True if the interfaces have changed since the start of the open request.
    private var isStale = false
    private var pause = ModemSchedule.interval

    mutating func follow(_ new: [String: Set<String>], at now: Instant) -> Effect? {
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

    mutating func query(at now: Instant) -> Effect? {
        guard !interfaces.isEmpty, !isAsking, let answer, !known.isEmpty, now - answer.time >= Self.freshness else {
            return nil
        }
        return askSoon(at: now)
    }

    mutating func due(at now: Instant) -> Effect? {
        guard !interfaces.isEmpty, !isAsking else { return nil }
        return ask(at: now)
    }

    /// - Parameter modems: the helper's answer; nil if the helper failed.
    mutating func ended(_ modems: [ModemReport]?, at now: Instant) -> Effect? {
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

    private mutating func askSoon(at now: Instant) -> Effect {
        if let asked, now - asked < Self.shortestPause { return .wait(until: asked + Self.shortestPause) }
        return ask(at: now)
    }

    private mutating func ask(at now: Instant) -> Effect {
        (asked, isAsking, isStale) = (now, true, false)
        return .ask
    }

    private var known: [(interface: String, modem: ModemReport)] {
        interfaces.keys.sorted().compactMap { interface in
            ModemReport.modem(of: interface, among: answer?.modems ?? []).map { (interface, $0) }
        }
    }

    var disconnected: Set<String> {
        Set(known.filter { $0.modem.isConnected($0.interface) == false }.map(\.interface))
    }

    /// Returns the status of the interface's modem, or of the first modem if it has none; nil without a modem.
    /// - Parameter interface: interface that carries the traffic; nil for none.
    func status(carrying interface: String?) -> ModemStatus? {
        let known = known
        let found = known.first { $0.interface == interface } ?? known.first
        return found.map { $0.modem.status(of: $0.interface) }
    }
}

/// Watches the modems of cellular interfaces through root's helper, which asks ModemManager. Never blocks, and sends
/// requests only while there is a cellular interface.
@AgentLoop
public final class ModemWatch {
    /// Path of the helper's socket in the package's unit.
    public static nonisolated let packagedSocket = "/run/altnet-modem.sock"
    /// Time limit of an answer. ModemManager may wait for modems.
    static nonisolated let answerLimit = Duration.seconds(20)

    private let path: String
    private let log: @AgentLoop @Sendable (Logger.Level, String) -> Void
    private let onChange: @AgentLoop () -> Void
    private var schedule = ModemSchedule()
    private var exchange: HelperExchange?
    private var timer: LoopTimer?
    private var lastReported: String?
    private var connected: Bool?

    /// - Parameters:
    ///   - path: path of the helper's socket.
    ///   - log: called with log lines.
    ///   - onChange: called when a status has changed.
    public init(
        socket path: String = packagedSocket, log: @escaping @AgentLoop @Sendable (Logger.Level, String) -> Void,
        onChange: @escaping @AgentLoop () -> Void
    ) {
        (self.path, self.log, self.onChange) = (path, log, onChange)
    }

    /// - Parameter interfaces: cellular interfaces that are up, with their addresses.
    public func follow(_ interfaces: [String: Set<String>]) {
        changing { $0.follow(interfaces, at: .now) }
    }

    /// Requests a newer status if the last one is at least ten seconds old.
    public func query() { changing { $0.query(at: .now) } }

    public var disconnected: Set<String> { schedule.disconnected }

    /// - Parameter interface: interface that carries the traffic; nil for none.
    public func status(carrying interface: String?) -> ModemStatus? { schedule.status(carrying: interface) }

    private func changing(_ step: (inout ModemSchedule) -> ModemSchedule.Effect?) {
        let before = (schedule.disconnected, schedule.status(carrying: nil))
        let effect = step(&schedule)
        let after = (schedule.disconnected, schedule.status(carrying: nil))
        if before != after {
            sayWhetherConnected(after.1)
            onChange()
        }
        switch effect {
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
                lastReported = nil
            } catch {
                complain("\(error)")
            }
        // Without the helper the agent does not watch modems, which is not an error.
        case .failure(.notThere): break
        case .failure(.silent): complain("the modem's helper does not answer")
        case .failure(.failed(let reason)): complain(reason)
        }
        changing { $0.ended(modems, at: .now) }
    }

    private func complain(_ fault: String) {
        if lastReported != fault { log(.warning, "cannot read the modem's state, retrying: \(fault)") }
        lastReported = fault
    }

    private func sayWhetherConnected(_ status: ModemStatus?) {
        let isConnected = status.map { $0.state == .connected }
        guard isConnected != connected else { return }
        connected = isConnected
        guard let status, let isConnected else { return }
        let network = [status.technology?.rawValue, status.operator].compactMap(\.self).joined(separator: ", ")
        let state = isConnected ? "connected" : "not connected (\(status.state.rawValue))"
        let suffix = network.isEmpty ? "" : ": \(network)"
        log(.notice, "the modem of \(status.interface) is \(state)\(suffix)")
    }
}
