import AgentModel

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
