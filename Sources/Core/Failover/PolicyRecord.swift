import AgentModel
import Glibc

/// What one run of the agent recorded, from its start to its end.
public struct RecordedRun: Sendable, Equatable {
    /// The agent's version.
    public let agent: String
    public let settings: PolicySettings
    public internal(set) var steps: [Step] = []
    /// Why nothing can be said of what followed; nil where the run is there to its end.
    public internal(set) var end: End?

    /// One event and what the policy wanted done.
    public struct Step: Sendable, Equatable {
        /// The event's place in the file, from 1.
        public let line: Int
        public let at: Instant
        public let event: PolicyEvent
        /// How many actions it has, which a power cut may have kept from being written.
        let actionCount: Int
        /// In the words of the record.
        public internal(set) var actions: [String] = []
    }

    public enum End: Sendable, Equatable {
        /// The disk was too slow: so many events and what they led to are missing.
        case gap(line: Int, missed: Int)
        /// The file had reached its limit.
        case full
        /// The power was cut, or the agent killed, while this line or the next one was written.
        case cut(line: Int)
    }

    init(agent: String, settings: PolicySettings) {
        self.agent = agent
        self.settings = settings
    }
}

/// Why a record cannot be read or written.
public struct RecordError: Error, Equatable, CustomStringConvertible {
    public let file: String
    public let reason: Reason

    public init(file: String, reason: Reason) {
        self.file = file
        self.reason = reason
    }

    public enum Reason: Equatable, Sendable {
        /// A system call failed: what cannot be done, and why: `cannot open: Permission denied`.
        case system(String)
        /// It is a folder, a pipe or a device.
        case notAFile
        case tooLarge(maximum: Int)
        /// Where in the file, and what should have been there.
        case malformed(line: Int, expected: String)
        case unsupportedVersion(line: Int, String)
        /// It has room for nothing more.
        case full(limit: Int)
    }

    public var description: String {
        switch reason {
        case .system(let problem): "\(file): \(problem)"
        case .notAFile: "\(file) is not a regular file"
        case .tooLarge(let maximum): "\(file) is larger than \(maximum >> 20) MiB"
        case .malformed(let line, let expected): "\(file):\(line): expected \(expected)"
        case .unsupportedVersion(let line, let version):
            "\(file):\(line): version \(version) of the format, expected \(RecordFormat.version)"
        case .full(let limit): "\(file) has reached its limit of \(limit >> 20) MiB"
        }
    }
}

/// The form of a record. Docs/recording.md describes it.
package enum RecordFormat {
    static let version = "5"
    /// Those that can be read: the first knew no doubts and no signing in, the second no settings that change, the third no
    /// proven access points, and the fourth had other names for `scanInterval`.
    static let readable = ["1", "2", "3", "4", version]
    static let heading = "altnet-record"
    /// The most bytes that a line has.
    static let lineLength = 256 * 1024

    package static func header(agent: String, _ settings: PolicySettings) -> String {
        let values = PolicySetting.all.compactMap { setting in
            setting.value(in: settings).map { "= \(setting.name) \($0)\n" }
        }
        return "\(heading) \(version) \(agent)\n" + values.joined()
    }

    package static func entry(_ event: PolicyEvent, at now: Instant, _ actions: [PolicyAction]) -> String {
        "@\(now.milliseconds) \(actions.count) \(event.recorded)\n" + actions.map { "> \($0.recorded)\n" }.joined()
    }

    package static func gap(_ missed: Int) -> String { "# gap \(missed)\n" }
    package static let full = "# full\n"
    /// What ends a line that a power cut left without its end, for it may look whole.
    package static let cut = " ..."
}

extension PolicyEvent {
    /// The event as the words of a line, its name first.
    public var recorded: String {
        switch self {
        case .settings(let settings): "settings \(settings.recorded)"
        case .networks(let networks): "networks \(networks.word)"
        case .remembered(let network, let frequency): "remembered \(network.word) \(frequency.word)"
        case .proven(let network, let bssid): "proven \(network.word) \(bssid.word)"
        case .interface(let isUp): "interface \(isUp ? "up" : "down")"
        case .supplicant(let isAvailable): "supplicant \(isAvailable ? "available" : "gone")"
        case .spare(let isReady): "spare \(isReady ? "ready" : "missing")"
        case .otherUplink(let uplink): "otherUplink \(uplink.word)"
        case .linkFound(let network, let accessPoint): "linkFound \(network.word) \(accessPoint.recorded)"
        case .interrupted(let id, let target, let cameFrom): "interrupted \(id) \(target.word) \(cameFrom.word)"
        case .scanned(let id, let results): "scanned \(id.word) \(results.word)"
        case .scanFailed(let id): "scanFailed \(id)"
        case .associated(let epoch, let accessPoint): "associated \(epoch) \(accessPoint.recorded)"
        case .joinFailed(let epoch, let failure): "joinFailed \(epoch) \(failure.word)"
        case .linkLost(let end): "linkLost \(end.word)"
        case .successorLost(let epoch): "successorLost \(epoch)"
        case .address(let isReady): "address \(isReady ? "ready" : "missing")"
        case .successorAddress(let epoch, let isReady):
            "successorAddress \(epoch) \(isReady ? "ready" : "missing")"
        case .signal(let signal): "signal \(signal)"
        case .probed(let epoch, let result): "probed \(epoch) \(result.word)"
        case .doubted(let epoch): "doubted \(epoch)"
        case .signingIn(let epoch, let end): "signingIn \(epoch) \(end.word)"
        case .postponed(let epoch, let moment): "postponed \(epoch) \(moment.word)"
        case .switchTo(let network, let id, let confirmWithin, let joinOnce):
            "switchTo \(network.word) \(id) \(confirmWithin.word)\(joinOnce ? " once" : "")"
        case .confirmed(let id): "confirmed \(id)"
        case .resumed: "resumed"
        case .tick: "tick"
        case .stop: "stop"
        }
    }

    /// Reads what `recorded` wrote.
    init(_ words: inout RecordWords) throws(RecordWords.Fault) {
        self = try Self.event(named: try words.text("an event"), &words)
        try words.finish()
    }

    private static func event(
        named name: Substring, _ words: inout RecordWords
    ) throws(RecordWords.Fault) -> PolicyEvent {
        switch name {
        case "settings": .settings(try PolicySettings(&words))
        case "networks": .networks(try words.next())
        case "remembered": .remembered(try words.next(), try words.next())
        case "proven": .proven(try words.next(), try words.next())
        case "interface": .interface(isUp: try words.next(of: ["up": true, "down": false]))
        case "supplicant": .supplicant(isAvailable: try words.next(of: ["available": true, "gone": false]))
        case "spare": .spare(isReady: try words.next(of: ["ready": true, "missing": false]))
        case "otherUplink": .otherUplink(try words.next())
        case "linkFound": .linkFound(try words.next(), try AccessPoint(&words))
        case "interrupted":
            .interrupted(id: try words.next(), target: try words.next(), cameFrom: try words.next())
        case "scanned": .scanned(id: try words.next(), try words.next())
        case "scanFailed": .scanFailed(id: try words.next())
        case "associated": .associated(epoch: try words.next(), try AccessPoint(&words))
        case "joinFailed": .joinFailed(epoch: try words.next(), try words.next())
        case "linkLost": .linkLost(try words.next())
        case "successorLost": .successorLost(epoch: try words.next())
        case "successorAddress":
            .successorAddress(
                epoch: try words.next(), isReady: try words.next(of: ["ready": true, "missing": false]))
        case "address": .address(isReady: try words.next(of: ["ready": true, "missing": false]))
        case "signal": .signal(try words.next())
        case "probed": .probed(epoch: try words.next(), try words.next())
        case "doubted": .doubted(epoch: try words.next())
        case "signingIn": .signingIn(epoch: try words.next(), until: try words.next())
        case "postponed": .postponed(epoch: try words.next(), until: try words.next())
        case "switchTo":
            .switchTo(
                try words.next(), id: try words.next(), confirmWithin: try words.next(),
                // Records from before there were visits say nothing.
                joinOnce: words.isAtEnd ? false : try words.next(of: ["once": true]))
        case "confirmed": .confirmed(id: try words.next())
        case "resumed": .resumed
        case "tick": .tick
        case "stop": .stop
        default: throw RecordWords.Fault(expected: "the name of an event")
        }
    }
}

extension AccessPoint {
    fileprivate var recorded: String { "\(bssid.word) \(frequency.word)" }

    fileprivate init(_ words: inout RecordWords) throws(RecordWords.Fault) {
        self.init(bssid: try words.next(), frequency: try words.next())
    }
}

extension PolicyAction {
    /// The action as the words of a line. Two actions are the same exactly if their words are; the moment of a decision is
    /// that of its event and is left out, and what an access point to join offers is what was seen of it last.
    var recorded: String {
        switch self {
        case .join(let target): "join \(target.recorded)"
        case .leave: "leave"
        case .joinBeside(let target): "joinBeside \(target.recorded)"
        case .useSuccessor(let epoch): "useSuccessor \(epoch)"
        case .leaveSuccessor(let epoch): "leaveSuccessor \(epoch)"
        case .scan(let order):
            "scan \(order.id) \(order.reason.rawValue) \(order.frequencies.word) \(order.ssids.word)"
        case .cancelScan: "cancelScan"
        case .watchSignal(let watch?):
            "watchSignal \(watch.threshold) \(watch.interval.word) \(watch.unsupervisedInterval.word)"
        case .watchSignal(nil): "watchSignal -"
        case .probe(let epoch, let limit): "probe \(epoch) \(limit.word)"
        case .bringInterfaceUp: "bringInterfaceUp"
        case .record(let decision): "decide \(decision.recorded)"
        case .store(.switchEnded(let id, let isCommitted)):
            "store switchEnded \(id) \(isCommitted ? "committed" : "undone")"
        case .switchProgress(let id, let progress): "switch \(id) \(progress.recorded)"
        }
    }
}

/// What a recorded order says that its answer refers to.
enum RecordedOrder: Equatable {
    case join(NetworkID, epoch: UInt64)
    case scan(id: UInt64)

    /// Reads the beginning of what `PolicyAction.recorded` wrote; nil for what has no answer, and for what is malformed.
    init?(_ action: String) {
        var words = RecordWords(action[...])
        do throws(RecordWords.Fault) {
            switch try words.text("an action") {
            case "join", "joinBeside": self = .join(try words.next(), epoch: try words.next())
            case "scan": self = .scan(id: try words.next())
            default: return nil
            }
        } catch {
            return nil
        }
    }
}

extension LinkTarget {
    fileprivate var recorded: String { "\(network.word) \(epoch) \(bssid.word) \(frequencies.word)" }
}

extension SwitchProgress {
    fileprivate var recorded: String {
        switch self {
        case .accepted: "accepted"
        case .joining: "joining"
        case .waitingForAddress: "waitingForAddress"
        case .validating: "validating"
        case .waitingForConfirmation: "waitingForConfirmation"
        case .committed: "committed"
        case .rolledBack(let failure): "rolledBack \(failure.word)"
        case .failed(let failure): "failed \(failure.word)"
        }
    }
}

extension PolicyDecision {
    fileprivate var recorded: String {
        let words = [
            kind.rawValue, cause.recorded, from.word, fromBSSID.word, to.word, toBSSID.word, signal.word,
        ]
        return (words + considered.map(\.recorded)).joined(separator: " ")
    }
}

extension PolicyDecision.Cause {
    fileprivate var recorded: String {
        switch self {
        case .failure(let failure): "failure:\(failure.word)"
        case let plain: "\(plain)"
        }
    }
}

extension PolicyDecision.Consideration {
    fileprivate var recorded: String {
        [ssid.word, (bss?.bssid).word, (bss?.signal).word, verdict.recorded].joined(separator: "/")
    }
}

extension PolicyDecision.Verdict {
    fileprivate var recorded: String {
        switch self {
        case .withinMargin(let missing): "withinMargin:\(missing)"
        case .blocked(let failure, let until): "blocked:\(failure.word):\(until.word)"
        case .unusable(let failure, let until): "unusable:\(failure.word):\(until.word)"
        case .refused(let failure): "refused:\(failure.word)"
        case .chosen, .current, .outranked, .notSeen, .belowFloor: "\(self)"
        }
    }
}

extension PolicySettings {
    /// All settings as the words of a line: `margin=8 five.weak=-76`.
    var recorded: String {
        PolicySetting.all.compactMap { setting in setting.value(in: self).map { "\(setting.name)=\($0)" } }
            .joined(separator: " ")
    }

    /// Reads what `recorded` wrote, to the end of the line.
    init(_ words: inout RecordWords) throws(RecordWords.Fault) {
        self.init()
        while !words.isAtEnd {
            let word = try words.text("a setting")
            guard let equals = word.firstIndex(of: "=") else {
                throw RecordWords.Fault(expected: "a setting of the policy and its value")
            }
            if PolicySetting.isRetired(word[..<equals]) { continue }
            guard let setting = PolicySetting.named(word[..<equals]) else {
                throw RecordWords.Fault(expected: "a setting of the policy and its value")
            }
            guard setting.set(word[word.index(after: equals)...], in: &self) else {
                throw RecordWords.Fault(expected: setting.form)
            }
        }
    }
}
