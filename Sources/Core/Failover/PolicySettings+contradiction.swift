extension PolicySettings {
    /// Two settings that cannot both be meant, or one that makes no sense.
    public struct Contradiction: Error, Hashable, Sendable, CustomStringConvertible {
        /// The setting's name in `PolicySettings`: `twoPointFour.weak`.
        public let setting: String
        /// What is wrong with it: `is -80, not above critical, which is -70`.
        public let problem: String

        public var description: String { "\(setting) \(problem)" }
    }

    /// The first contradiction among the settings; nil if there is none.
    public var contradiction: Contradiction? { contradictions.first }

    /// The contradictions among the settings, at most one of a kind.
    public var contradictions: [Contradiction] {
        [
            contradiction(in: twoPointFour, of: "twoPointFour"), contradiction(in: five, of: "five"),
            contradictionOfConfirmation, contradictionOfNumbers, contradictionOfWaits,
        ].compactMap(\.self)
    }

    private func contradiction(in thresholds: Thresholds, of band: String) -> Contradiction? {
        if thresholds.weak <= thresholds.critical {
            return Contradiction(
                setting: "\(band).weak",
                problem: "is \(thresholds.weak), not above critical, which is \(thresholds.critical)")
        }
        if thresholds.weak <= thresholds.floor {
            return Contradiction(
                setting: "\(band).weak", problem: "is \(thresholds.weak), not above floor, which is \(thresholds.floor)"
            )
        }
        return nil
    }

    private var contradictionOfConfirmation: Contradiction? {
        criticalConfirmation > weakConfirmation
            ? Contradiction(setting: "criticalConfirmation", problem: "is longer than weakConfirmation") : nil
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
        if let validation, validation.doubtLimit > validation.limit {
            return Contradiction(setting: "validation.doubtLimit", problem: "is longer than validation.limit")
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
