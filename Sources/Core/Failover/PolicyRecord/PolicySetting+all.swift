extension PolicySetting {
    /// Every setting there is: one that was left out could make a replay decide otherwise for no reason that it knows.
    public static let all: [PolicySetting] = [
        thresholds("twoPointFour", \.twoPointFour.weak, \.twoPointFour.critical, \.twoPointFour.floor),
        thresholds("five", \.five.weak, \.five.critical, \.five.floor),
        decibels,
        counts,
        durations,
        [.isOn("returnsToPreferred", \.returnsToPreferred)],
        backOff("preferredLook", \.preferredLook.first, \.preferredLook.last),
        backOff("preferredConfirmation", \.preferredConfirmation.first, \.preferredConfirmation.last),
        backOff("weakScan", \.weakScan.first, \.weakScan.last),
        backOff("criticalScan", \.criticalScan.first, \.criticalScan.last),
        backOff("survey", \.survey.first, \.survey.last),
        backOff("fullScan", \.fullScan.first, \.fullScan.last),
        backOff("look", \.look.first, \.look.last),
        backOff("retry", \.retry.first, \.retry.last),
        backOff("wrongKeyBlock", \.wrongKeyBlock.first, \.wrongKeyBlock.last),
        backOff("transientBlock", \.transientBlock.first, \.transientBlock.last),
        backOff("regretBlock", \.regretBlock.first, \.regretBlock.last),
        backOff("fullBlock", \.fullBlock.first, \.fullBlock.last),
        backOff("noAddressBlock", \.noAddressBlock.first, \.noAddressBlock.last),
        backOff("noInternetBlock", \.noInternetBlock.first, \.noInternetBlock.last),
        backOff("captiveBlock", \.captiveBlock.first, \.captiveBlock.last),
        backOff("lastResort", \.lastResort.first, \.lastResort.last),
        validation,
    ].flatMap(\.self)

    private static let decibels: [PolicySetting] = [
        .number("margin", .decibels, \.margin),
        .number("recovery", .decibels, \.recovery),
        .number("dampingStep", .decibels, \.dampingStep),
        .number("dampingLimit", .decibels, \.dampingLimit),
        .number("returnHeadroom", .decibels, \.returnHeadroom),
        .number("lookAgainDrop", .decibels, \.lookAgainDrop),
        .number("unblockGain", .decibels, \.unblockGain),
    ]

    private static let counts: [PolicySetting] = [
        .number("confirmationSamples", .count, \.confirmationSamples),
        .number("switchLimit", .count, \.switchLimit),
        .number("scanShare", .count, \.scanShare),
        .number("weakScanShare", .count, \.weakScanShare),
        .number("wrongKeyStrikes", .count, \.wrongKeyStrikes),
        .number("transientStrikes", .count, \.transientStrikes),
        .number("noAddressStrikes", .count, \.noAddressStrikes),
        .number("lossLimit", .count, \.lossLimit),
    ]

    private static let durations: [PolicySetting] = [
        .duration("criticalConfirmation", \.criticalConfirmation),
        .duration("weakConfirmation", \.weakConfirmation),
        .duration("fadingHorizon", \.fadingHorizon),
        .duration("calmSampling", \.calmSampling),
        .duration("unsupervisedSampling", \.unsupervisedSampling),
        .duration("alertSampling", \.alertSampling),
        .duration("criticalSampling", \.criticalSampling),
        .duration("commandPatience", \.commandPatience),
        .duration("stayAfterCommand", \.stayAfterCommand),
        .duration("betweenSwitches", \.betweenSwitches),
        .duration("switchLimitWindow", \.switchLimitWindow),
        .duration("dampingWindow", \.dampingWindow),
        .duration("preferredProbation", \.preferredProbation),
        .duration("shortLink", \.shortLink),
        .duration("lossWindow", \.lossWindow),
        .duration("hurry", \.hurry),
        .duration("hurriedLook", \.hurriedLook),
        .duration("strangerLimit", \.strangerLimit),
        .duration("patienceAfter", \.patienceAfter),
        .duration("patientFullScan", \.patientFullScan),
        .duration("scanReserve", \.scanReserve),
        .duration("surveyDelay", \.surveyDelay),
        .duration("scanLimit", \.scanLimit),
        .duration("joinLimit", \.joinLimit),
        .duration("addressLimit", \.addressLimit),
        .duration("addressLimitAfterLeaving", \.addressLimitAfterLeaving),
        .duration("usefulProbation", \.usefulProbation),
        .duration("freshness", \.freshness),
        .duration("reappearance", \.reappearance),
        .duration("sleepSuspicion", \.sleepSuspicion),
        .duration("interfaceGrace", \.interfaceGrace),
    ]

    private static let validation: [PolicySetting] = [
        .isOn("validation", \.isValidating),
        .proofDuration("validation.interval", \.proof.interval),
        .proofDuration("validation.retry", \.proof.retry),
        .proofNumber("validation.strikes", \.proof.strikes),
        .proofDuration("validation.limit", \.proof.limit),
        .proofDuration("validation.doubtLimit", \.proof.doubtLimit),
        .proofDuration("validation.signInLimit", \.proof.signInLimit),
    ]

    private static func thresholds(
        _ band: String, _ weak: Path<Int>, _ critical: Path<Int>, _ floor: Path<Int>
    ) -> [PolicySetting] {
        [
            .number("\(band).weak", .signal, weak), .number("\(band).critical", .signal, critical),
            .number("\(band).floor", .signal, floor),
        ]
    }

    private static func backOff(_ name: String, _ first: Path<Duration>, _ last: Path<Duration>) -> [PolicySetting] {
        [.duration("\(name).first", first), .duration("\(name).last", last)]
    }
}

extension PolicySettings {
    var isValidating: Bool {
        get { validation != nil }
        set { validation = newValue ? proof : nil }
    }

    /// What `validation` is while it is on.
    fileprivate var proof: Validation {
        get { validation ?? Validation() }
        set { validation = newValue }
    }
}
