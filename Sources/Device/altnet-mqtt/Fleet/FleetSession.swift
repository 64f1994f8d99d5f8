import AgentModel
import ArgumentParser
import BrokerIO
import FleetOperator
import Glibc
import Linux
import MQTTBridge
import Terminal

struct FleetSession {
    let run: String
    private let options: BridgeOptions
    private let address: BrokerAddress
    private let secrets: BrokerSecrets
    private let signals: ProcessSignals

    var prefix: String { options.bridge.prefix }
    private static let connecting = Duration.seconds(30)
    private static let saving = Duration.seconds(1)

    init(_ arguments: BrokerArguments) throws {
        options = try arguments.options()
        guard let address = options.broker else { throw ExitCode(EX_CONFIG) }
        self.address = address
        do throws(BrokerSecretsFault) {
            secrets = try BrokerSecrets(folder: options.secrets, credentials: nil)
        } catch {
            complain("\(error)")
            throw ExitCode(EX_CONFIG)
        }
        var random = SystemRandomNumberGenerator()
        run = String(random.next(), radix: 36)
        signals = try ProcessSignals([SIGTERM, SIGINT])
    }

    private func connection() -> OwnerConnection { OwnerConnection(address, user: options.user, secrets, run: run) }

    func roster() throws -> Roster {
        var roster = Roster(prefix: prefix)
        var connection = connection()
        defer { connection.end() }
        var kept = RetainedMessages()
        let limit = Instant.now + Self.connecting
        while kept.end.map({ $0 > .now }) ?? true {
            if kept.end == nil, limit <= .now { throw noBroker(connection) }
            for news in connection.wait(until: kept.end ?? limit, signals.descriptor) {
                switch news {
                case .connected:
                    connection.subscribe(roster.subscriptions)
                    kept.begin(at: .now)
                case .message(let message):
                    roster.record(message)
                    kept.record(message, at: .now)
                case .lost: break
                case .refused(let reason): complain("refused by the broker: \(reason)")
                }
            }
            try checkSignals()
        }
        return roster
    }

    /// Runs a rollout until every device is committed, undone or refused. After `patience`, stops as soon as no device
    /// has pending work.
    /// - Parameter patience: time to wait for offline or unfinished devices.
    /// - Returns: the record and the number of offline devices.
    func perform(_ rollout: Rollout, keepingAt path: String, for patience: Duration) throws -> (RolloutRecord, Int) {
        var rollout = rollout
        var connection = connection()
        defer { connection.end() }
        let began = Instant.now
        var saved: Instant?
        var progress = RolloutProgress()
        defer { progress.end() }
        func save() throws { if let record = rollout.changedRecord() { try FleetFile.write(record, to: path) } }
        while true {
            let now = Instant.now
            if !rollout.wasConnected, began + Self.connecting <= now { throw noBroker(connection) }
            if rollout.isSettled, rollout.isOver || began + patience <= now { break }
            for reason in connection.carryOn(&rollout, until: now + Self.saving, signals.descriptor) {
                complain("refused by the broker: \(reason)")
            }
            if saved.map({ $0 + Self.saving <= .now }) ?? true {
                try save()
                saved = .now
                progress.show(rollout.record, offline: rollout.offline)
            }
            do { try checkSignals() } catch {
                try save()
                throw error
            }
        }
        try save()
        return (rollout.record, rollout.offline)
    }

    private func checkSignals() throws {
        guard signals.drain().isEmpty else {
            complain("interrupted: repeat the command to continue")
            throw ExitCode(EX_TEMPFAIL)
        }
    }

    private func noBroker(_ connection: OwnerConnection) -> ExitCode {
        complain(connection.problem ?? "the broker does not answer: check its address")
        return ExitCode(EX_UNAVAILABLE)
    }
}

/// Shows the progress of a rollout: on a terminal in one line that is redrawn, elsewhere in a new line after a change,
/// at most every 10 s.
struct RolloutProgress {
    private let style = Style.spinner
    private var lastShown: String?
    private var last: Instant?
    private static let interval = Duration.seconds(10)

    mutating func show(_ record: RolloutRecord, offline: Int) {
        let parts = RolloutRecord.Phase.allCases.filter { record[$0] > 0 }.map { "\(record[$0]) \($0.rawValue)" }
        let text = (parts + (offline > 0 ? ["\(offline) offline"] : [])).joined(separator: ", ")
        if let style {
            write("\r\u{1b}[K" + text.fitted(to: style.width - 1, ellipsis: style.ellipsis))
        } else if text != lastShown, last.map({ $0 + Self.interval <= .now }) ?? true {
            write(text + "\n")
            last = .now
        }
        lastShown = text
    }

    func end() { if style != nil { write("\r\u{1b}[K") } }

    private func write(_ text: String) { try? TextOutput(descriptor: STDERR_FILENO).put(text) }
}
