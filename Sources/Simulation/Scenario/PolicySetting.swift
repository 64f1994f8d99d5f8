import FailoverPolicy

/// A setting of the policy that a scenario may change. Its name in the file is its name in `PolicySettings`.
enum PolicySetting: Sendable {
    typealias Path<Value> = WritableKeyPath<PolicySettings, Value> & Sendable
    typealias ValidationPath<Value> = WritableKeyPath<PolicySettings.Validation, Value> & Sendable

    case signal(Path<Int>)
    case decibels(Path<Int>)
    case count(Path<Int>)
    case time(Path<Duration>)
    case backOff(Path<BackOff>)
    /// Whether networks are probed at all.
    case validation
    case validationTime(ValidationPath<Duration>)
    case validationCount(ValidationPath<Int>)

    static let named: [String: Self] = [
        "twoPointFour.weak": .signal(\.twoPointFour.weak),
        "twoPointFour.critical": .signal(\.twoPointFour.critical),
        "twoPointFour.floor": .signal(\.twoPointFour.floor),
        "five.weak": .signal(\.five.weak),
        "five.critical": .signal(\.five.critical),
        "five.floor": .signal(\.five.floor),
        "margin": .decibels(\.margin),
        "criticalConfirmation": .time(\.criticalConfirmation),
        "weakConfirmation": .time(\.weakConfirmation),
        "confirmationSamples": .count(\.confirmationSamples),
        "fadingHorizon": .time(\.fadingHorizon),
        "calmSampling": .time(\.calmSampling),
        "unsupervisedSampling": .time(\.unsupervisedSampling),
        "criticalSampling": .time(\.criticalSampling),
        "alertSampling": .time(\.alertSampling),
        "commandPatience": .time(\.commandPatience),
        "stayAfterCommand": .time(\.stayAfterCommand),
        "betweenSwitches": .time(\.betweenSwitches),
        "switchLimit": .count(\.switchLimit),
        "switchLimitWindow": .time(\.switchLimitWindow),
        "dampingWindow": .time(\.dampingWindow),
        "dampingStep": .decibels(\.dampingStep),
        "dampingLimit": .decibels(\.dampingLimit),
        "preferredLook": .backOff(\.preferredLook),
        "preferredConfirmation": .backOff(\.preferredConfirmation),
        "returnHeadroom": .decibels(\.returnHeadroom),
        "preferredProbation": .time(\.preferredProbation),
        "validation": .validation,
        "validation.interval": .validationTime(\.interval),
        "validation.retry": .validationTime(\.retry),
        "validation.strikes": .validationCount(\.strikes),
        "validation.limit": .validationTime(\.limit),
        "scanShare": .count(\.scanShare),
        "weakScanShare": .count(\.weakScanShare),
        "scanReserve": .time(\.scanReserve),
        "weakScan": .backOff(\.weakScan),
        "surveyDelay": .time(\.surveyDelay),
        "survey": .backOff(\.survey),
        "fullScan": .backOff(\.fullScan),
        "look": .backOff(\.look),
        "scanLimit": .time(\.scanLimit),
        "joinLimit": .time(\.joinLimit),
        "addressLimit": .time(\.addressLimit),
        "freshness": .time(\.freshness),
        "wrongKeyBlock": .backOff(\.wrongKeyBlock),
        "transientBlock": .backOff(\.transientBlock),
        "fullBlock": .backOff(\.fullBlock),
        "noAddressBlock": .backOff(\.noAddressBlock),
        "noInternetBlock": .backOff(\.noInternetBlock),
        "captiveBlock": .backOff(\.captiveBlock),
        "wrongKeyStrikes": .count(\.wrongKeyStrikes),
        "transientStrikes": .count(\.transientStrikes),
        "noAddressStrikes": .count(\.noAddressStrikes),
        "unblockGain": .decibels(\.unblockGain),
        "reappearance": .time(\.reappearance),
        "lastResort": .backOff(\.lastResort),
        "sleepSuspicion": .time(\.sleepSuspicion),
        "interfaceGrace": .time(\.interfaceGrace),
    ]
}

extension ScenarioParser {
    /// `set margin 10`, `set weakScan 20s up to 160s`, `set validation on`
    mutating func readSetting(_ line: inout ScenarioLine) throws(ScenarioError) {
        let (name, setting) = try line.value("the name of a setting of the policy, such as \"margin\"") { word in
            word.plain.flatMap { name in PolicySetting.named[name].map { (name, $0) } }
        }
        guard settingLines.updateValue(line.number, forKey: name) == nil else {
            throw line.error(expected: "a setting that is not set yet")
        }
        try read(setting, &line)
    }

    /// Names the line of the setting that the contradiction is about, or else, as that one was not set, the last that was.
    func checkSettings() throws(ScenarioError) {
        guard let contradiction = scenario.settings.contradiction else { return }
        throw ScenarioError(
            file: file, line: settingLines[contradiction.setting] ?? settingLines.values.max(),
            expected: "settings that agree", found: "that \(contradiction)")
    }

    private mutating func read(_ setting: PolicySetting, _ line: inout ScenarioLine) throws(ScenarioError) {
        switch setting {
        case .signal(let path): scenario.settings[keyPath: path] = try line.signal()
        case .decibels(let path): scenario.settings[keyPath: path] = try line.wholeDecibels()
        case .count(let path): scenario.settings[keyPath: path] = try line.count()
        case .time(let path): scenario.settings[keyPath: path] = try line.duration()
        case .backOff(let path): scenario.settings[keyPath: path] = try line.backOff()
        case .validation:
            try line.expect("on")
            scenario.settings.validation = .init()
        case .validationTime(let path):
            var validation = try validation(line)
            validation[keyPath: path] = try line.duration(from: .milliseconds(1))
            scenario.settings.validation = validation
        case .validationCount(let path):
            var validation = try validation(line)
            validation[keyPath: path] = try line.count()
            scenario.settings.validation = validation
        }
    }

    private func validation(_ line: ScenarioLine) throws(ScenarioError) -> PolicySettings.Validation {
        guard let validation = scenario.settings.validation else {
            throw line.error(expected: "\"set validation on\" before it")
        }
        return validation
    }
}

extension ScenarioLine {
    fileprivate mutating func wholeDecibels() throws(ScenarioError) -> Int {
        try value("decibels from 0 to 60") { $0.integer(in: 0...60, unit: "dB") }
    }

    fileprivate mutating func count() throws(ScenarioError) -> Int {
        try value("a number from 0 to 1000") { $0.integer(in: 0...1000, unit: "") }
    }

    /// `20s up to 160s`
    fileprivate mutating func backOff() throws(ScenarioError) -> BackOff {
        let first = try duration(from: .milliseconds(1), "the first wait such as 20s")
        try expect("up", "to")
        let last = try value("the last wait, not shorter than the first") { $0.duration(from: first) }
        return BackOff(first: first, last: last)
    }
}
