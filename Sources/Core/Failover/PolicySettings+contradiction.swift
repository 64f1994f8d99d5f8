extension PolicySettings {
    /// Two settings that cannot both be meant, or one that makes no sense.
    public struct Contradiction: Error, Hashable, Sendable, CustomStringConvertible {
        /// The setting's name in `PolicySettings`: `twoPointFour.weak`.
        public let setting: String
        /// What is wrong with it: `is -80, not above critical, which is -70`.
        public let problem: String

        public var description: String { "\(setting) \(problem)" }
    }

    /// Two settings, or three, of which one bounds the other.
    public enum Pair: Hashable, Sendable, CaseIterable {
        /// `weak`, `critical` and `floor` of a band.
        case signal2G, signal5G
        /// `criticalConfirmation` and `weakConfirmation`.
        case confirmation
        /// `validation.doubtLimit` and `validation.limit`.
        case validationLimit
    }

    /// The first contradiction among the settings; nil if there is none.
    public var contradiction: Contradiction? {
        Pair.allCases.lazy.compactMap { contradiction(in: $0) }.first ?? contradictionOfNumbers ?? contradictionOfWaits
    }

    /// What is wrong between two settings; nil if they agree.
    public func contradiction(in pair: Pair) -> Contradiction? {
        switch pair {
        case .signal2G: contradiction(in: twoPointFour, of: "twoPointFour")
        case .signal5G: contradiction(in: five, of: "five")
        case .confirmation where criticalConfirmation > weakConfirmation:
            Contradiction(setting: "criticalConfirmation", problem: "is longer than weakConfirmation")
        case .validationLimit where validation.map { $0.doubtLimit > $0.limit } ?? false:
            Contradiction(setting: "validation.doubtLimit", problem: "is longer than validation.limit")
        case .confirmation, .validationLimit: nil
        }
    }

    private func contradiction(in thresholds: Thresholds, of band: String) -> Contradiction? {
        let others = [("critical", thresholds.critical), ("floor", thresholds.floor)]
        return others.first { thresholds.weak <= $0.1 }.map {
            Contradiction(
                setting: "\(band).weak", problem: "is \(thresholds.weak), not above \($0.0), which is \($0.1)")
        }
    }

    /// Numbers that have to be one at least: a margin of nothing is a dance between equals.
    private var contradictionOfNumbers: Contradiction? {
        let numbers = [
            ("margin", margin), ("confirmationSamples", confirmationSamples), ("switchLimit", switchLimit),
            ("wrongKeyStrikes", wrongKeyStrikes), ("transientStrikes", transientStrikes),
            ("noAddressStrikes", noAddressStrikes), ("lossLimit", lossLimit), ("scanShare", scanShare),
            ("weakScanShare", weakScanShare),
            ("validation.strikes", validation?.strikes ?? 1),
        ]
        if let strikes = validation?.strikes, strikes > LinkValidation.lookBack {
            return Contradiction(
                setting: "validation.strikes",
                problem: "is \(strikes), and only the last \(LinkValidation.lookBack) probes count")
        }
        return numbers.first { $0.1 < 1 }.map {
            Contradiction(setting: $0.0, problem: "is \($0.1), and has to be 1 at least")
        }
    }

    private var contradictionOfWaits: Contradiction? {
        if weakScanShare < scanShare {
            return Contradiction(setting: "weakScanShare", problem: "is less than scanShare, the share of a good link")
        }
        if scanReserve < ScanBudget.firstFullScan {
            return Contradiction(setting: "scanReserve", problem: "is too short for one scan of all channels")
        }
        let times = [
            ("calmSampling", calmSampling), ("unsupervisedSampling", unsupervisedSampling),
            ("alertSampling", alertSampling), ("criticalSampling", criticalSampling), ("scanLimit", scanLimit),
            ("joinLimit", joinLimit), ("strangerLimit", strangerLimit), ("hurriedLook", hurriedLook),
            ("addressLimit", addressLimit), ("interfaceGrace", interfaceGrace),
            ("sleepSuspicion", sleepSuspicion), ("validation.interval", validation?.interval ?? .seconds(1)),
            ("validation.retry", validation?.retry ?? .seconds(1)),
            ("validation.limit", validation?.limit ?? .seconds(1)),
            ("validation.doubtLimit", validation?.doubtLimit ?? .seconds(1)),
            ("validation.signInLimit", validation?.signInLimit ?? .seconds(1)),
        ]
        if let (name, _) = times.first(where: { $0.1 <= .zero }) {
            return Contradiction(setting: name, problem: "has to be longer than nothing")
        }
        let backOffs = [
            ("weakScan", weakScan), ("criticalScan", criticalScan), ("survey", survey), ("fullScan", fullScan),
            ("look", look), ("retry", retry),
            ("preferredLook", preferredLook), ("preferredConfirmation", preferredConfirmation),
            ("wrongKeyBlock", wrongKeyBlock), ("transientBlock", transientBlock), ("fullBlock", fullBlock),
            ("noAddressBlock", noAddressBlock), ("noInternetBlock", noInternetBlock), ("captiveBlock", captiveBlock),
            ("regretBlock", regretBlock),
            ("lastResort", lastResort),
        ]
        if let (name, _) = backOffs.first(where: { $0.1.first <= .zero }) {
            return Contradiction(setting: "\(name).first", problem: "has to be longer than nothing")
        }
        return backOffs.first { $0.1.last < $0.1.first }.map {
            Contradiction(setting: "\($0.0).last", problem: "is shorter than the first wait")
        }
    }
}
