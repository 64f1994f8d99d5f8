import AgentModel

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
