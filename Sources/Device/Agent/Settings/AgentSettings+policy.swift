import AgentModel
import Failover

extension PolicySettings {
    /// - Parameter required: the connectivity that a network must have. `link` disables validation.
    init(from reader: inout SettingsReader, required: ReachLevel) {
        self.init()
        twoPointFour = Thresholds(
            weak: reader.number(.weak2G), critical: reader.number(.critical2G),
            minimumSignal: reader.number(.minimumSignal2G))
        five = Thresholds(
            weak: reader.number(.weak5G), critical: reader.number(.critical5G),
            minimumSignal: reader.number(.minimumSignal5G))
        margin = reader.number(.margin)
        stayAfterCommand = reader.seconds(.stayAfterCommand)
        joinLimit = reader.seconds(.joinLimit)
        addressLimit = reader.seconds(.addressLimit)
        wrongKeyBlock.setFirst(with: reader.seconds(.wrongKeyBlock))
        scanShare = reader.number(.scanShare)
        noInternetBlock.setFirst(with: reader.seconds(.noInternetRetry))
        let confirmation = reader.seconds(.returnConfirmation)
        returnsToPreferred = confirmation > .zero
        if returnsToPreferred { preferredConfirmation = confirmation }
        keepsStandby = reader.choice(.standby) == StandbyChoice.always
        spareGrace = reader.seconds(.spareGrace)
        validation = Validation(from: &reader)
        refuseContradictions(to: &reader)
        if required == .link { validation = nil }
    }

    /// Refuses settings that contradict each other. Either may be wrong; the error is reported for one of them.
    private func refuseContradictions(to reader: inout SettingsReader) {
        for pair in Pair.allCases {
            // Only pairs can contradict: the reader has already checked the range of each setting.
            guard let contradiction = contradiction(in: pair) else { continue }
            let (setting, others, problem): (Setting, [Setting], String) =
                switch pair {
                case .signal2G: (.weak2G, [.critical2G, .minimumSignal2G], contradiction.problem)
                case .signal5G: (.weak5G, [.critical5G, .minimumSignal5G], contradiction.problem)
                case .validationLimit:
                    (.validationDoubtLimit, [.validationLimit], "is longer than ALTNET_VALIDATION_LIMIT_S")
                }
            guard !([setting] + others).contains(where: { reader.isRefused($0) }) else { continue }
            let names = others.map(\.name).joined(separator: " and ")
            reader.refuse(
                setting, problem, allowed: others.count > 1 ? "above \(names)" : "at most \(names)",
                besides: others)
        }
    }
}

extension PolicySettings.Validation {
    fileprivate init(from reader: inout SettingsReader) {
        self.init()
        interval = reader.seconds(.validationInterval)
        limit = reader.seconds(.validationLimit)
        strikes = reader.number(.validationStrikes)
        retry = reader.seconds(.validationRetry)
        signInLimit = reader.seconds(.signInLimit)
        // If ALTNET_VALIDATION_DOUBT_LIMIT_S is not set, ALTNET_VALIDATION_LIMIT_S also limits checks in doubt.
        let doubtLimit = reader.seconds(.validationDoubtLimit)
        self.doubtLimit = reader.isSet(.validationDoubtLimit) ? doubtLimit : min(doubtLimit, limit)
    }
}

extension BackOff {
    /// Replaces the first wait. Raises the last wait to at least the first.
    mutating func setFirst(with first: Duration) {
        self.first = first
        last = max(first, last)
    }
}
