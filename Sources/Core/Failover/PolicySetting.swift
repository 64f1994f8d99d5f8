import AgentModel

/// One setting of the policy, by the name it has in `PolicySettings`: `margin`, `five.weak`,
/// `scanInterval.known.first`. Records, scenarios and `altnet-lab replay --set` have the same names and values.
public struct PolicySetting: Sendable {
    public typealias Path<Value> = WritableKeyPath<PolicySettings, Value> & Sendable

    public let name: String
    private let access: Access

    /// Whether the value must be above 0.
    private let isPositive: Bool

    private enum Access: Sendable {
        case isOn(Path<Bool>)
        case number(Quantity, Path<Int>)
        case duration(Path<Duration>)
        case wait(Path<BackOff>, WritableKeyPath<BackOff, Duration> & Sendable)
        /// The setting has no effect any more.
        case removed
    }

    enum Quantity: Sendable {
        case signal, decibels, count
    }

    private init(_ name: String, _ access: Access, isPositive: Bool = false) {
        self.name = name
        self.access = access
        self.isPositive = isPositive
    }

    /// Whether it is a part of `validation`, which is on as soon as one of them is set.
    private var isOfValidation: Bool { name.hasPrefix("validation.") }

    /// The setting with this name, or with its name in the previous version.
    public static func named(_ name: some StringProtocol) -> PolicySetting? {
        let name = presentName(of: name) ?? String(name)
        return all.first { $0.name == name } ?? (isRemoved(name) ? Self(name, .removed) : nil)
    }

    /// A sentence for the user about a name of the previous version; nil for any other name.
    public static func warning(about name: some StringProtocol) -> String? {
        if isRemoved(String(name)) {
            return "the setting \(name) has no effect any more; the next version refuses it"
        }
        return presentName(of: name).map {
            "the setting \(name) is called \($0) now; the next version refuses the old name"
        }
    }

    static func isRemoved(_ name: String) -> Bool { removed.contains(name) }

    private static let removed: Set = [
        "criticalConfirmation", "weakConfirmation", "confirmationSamples", "fadingHorizon", "dampingStep",
        "dampingWindow", "dampingLimit", "lossLimit", "lossWindow", "preferredConfirmation.last", "preferredProbation",
    ]

    private static func presentName(of name: some StringProtocol) -> String? {
        switch name {
        case "surveyDelay": "scanInterval.unseenDelay"
        case "survey.first", "survey.last": "scanInterval.unseen" + name.dropFirst("survey".count)
        case "look.first", "look.last": "scanInterval.known" + name.dropFirst("look".count)
        case "preferredLook.first", "preferredLook.last": "preferredScan" + name.dropFirst("preferredLook".count)
        case "twoPointFour.floor", "five.floor": "\(name.dropLast("floor".count))minimumSignal"
        case "regretBlock.first", "regretBlock.last": "failedMoveBlock" + name.dropFirst("regretBlock".count)
        case "lookAgainDrop": "rescanDrop"
        case "hurry": "reconnectWindow"
        case "hurriedLook": "reconnectScan"
        case "strangerLimit", "unprovenLimit": "unverifiedLimit"
        case "preferredConfirmation.first": "preferredConfirmation"
        default: nil
        }
    }
}

// MARK: Values

extension PolicySetting {
    /// The form of a value, as the end of "expected ...".
    public var form: String {
        switch access {
        case .isOn: "on or off"
        case .number(let quantity, _): quantity.form
        case .duration where isOfValidation: "a time of at least 1ms, such as 30s"
        case .duration, .wait: "a time with its unit, such as 30s or 1h30m"
        case .removed: "a value"
        }
    }

    /// The value as `set` reads it; nil for a part of `validation` where that is off.
    public func value(in settings: PolicySettings) -> String? {
        if isOfValidation, !settings.isValidating { return nil }
        return switch access {
        case .isOn(let path): settings[keyPath: path] ? "on" : "off"
        case .number(_, let path): "\(settings[keyPath: path])"
        case .duration(let path): settings[keyPath: path].inOneUnit
        case .wait(let path, let part): settings[keyPath: path][keyPath: part].inOneUnit
        case .removed: nil
        }
    }

    /// The problem of a value that makes no sense alone; nil if it does.
    func contradiction(in settings: PolicySettings) -> PolicySettings.Contradiction? {
        let problem: String? =
            switch access {
            case .number(_, let path):
                isPositive && settings[keyPath: path] < 1
                    ? "is \(settings[keyPath: path]), and must be at least 1" : nil
            case .duration(let path): isPositive && settings[keyPath: path] <= .zero ? "must be longer than 0" : nil
            case .wait(let path, let part): problem(of: settings[keyPath: path], part)
            case .isOn, .removed: nil
            }
        return problem.map { PolicySettings.Contradiction(setting: name, problem: $0) }
    }

    private func problem(of wait: BackOff, _ part: KeyPath<BackOff, Duration>) -> String? {
        if wait[keyPath: part] <= .zero { return "must be longer than 0" }
        return part == \.last && wait.last < wait.first ? "is shorter than the first wait" : nil
    }

    /// Sets the value. `PolicySettings.contradiction` checks whether several settings agree.
    /// - Parameter text: `10`, `10dB`, `-70`, `-70dBm`, `90s`, `1h30m`, `on`.
    /// - Returns: false if `text` is not such a value. Then nothing is set.
    public func set(_ text: some StringProtocol, in settings: inout PolicySettings) -> Bool {
        switch access {
        case .isOn(let path): assign(["on": true, "off": false][String(text)], to: path, in: &settings)
        case .number(let quantity, let path): assign(quantity.number(text), to: path, in: &settings)
        case .duration(let path): assign(duration(text), to: path, in: &settings)
        case .wait(let path, let part): assign(duration(text), to: part, in: &settings[keyPath: path])
        case .removed: !text.isEmpty
        }
    }

    private func duration(_ text: some StringProtocol) -> Duration? {
        Duration(inUnits: text).flatMap { isOfValidation && $0 <= .zero ? nil : $0 }
    }

    private func assign<Root, Value>(_ value: Value?, to path: WritableKeyPath<Root, Value>, in root: inout Root)
        -> Bool
    {
        guard let value else { return false }
        root[keyPath: path] = value
        return true
    }
}

extension PolicySetting.Quantity {
    fileprivate var form: String {
        switch self {
        case .signal: "a signal in dBm such as -70"
        case .decibels: "decibels from 0 to 60"
        case .count: "a number from 0 to 1000"
        }
    }

    /// Reads a number. The unit may be left out.
    fileprivate func number(_ text: some StringProtocol) -> Int? {
        let (unit, range) =
            switch self {
            case .signal: ("dBm", -110 ... -1)
            case .decibels: ("dB", 0...60)
            case .count: ("", 0...1000)
            }
        let digits = text.hasSuffix(unit) ? text.dropLast(unit.count) : text[...]
        guard !digits.hasPrefix("+"), let number = Int(digits), range.contains(number) else { return nil }
        return number
    }
}

extension PolicySetting {
    /// Every setting. One that is missing could change a replay without a visible reason.
    public static let all: [PolicySetting] = [numbers, durations, switches, waitBounds].flatMap(\.self)

    private static let numbers: [PolicySetting] = [
        signals.map { Self($0, .number(.signal, $1)) },
        decibels.map { Self($0, .number(.decibels, $1)) },
        margins.map { Self($0, .number(.decibels, $1), isPositive: true) },
        counts.map { Self($0, .number(.count, $1), isPositive: true) },
    ].flatMap(\.self)

    private static let durations: [PolicySetting] =
        times.map { Self($0, .duration($1)) }
        + (positiveTimes + validationTimes).map { Self($0, .duration($1), isPositive: true) }

    private static let switches: [PolicySetting] = [
        Self("returnsToPreferred", .isOn(\.returnsToPreferred)), Self("keepsStandby", .isOn(\.keepsStandby)),
        Self("validation", .isOn(\.isValidating)),
    ]

    private static let waitBounds: [PolicySetting] = waits.flatMap {
        [Self($0 + ".first", .wait($1, \.first)), Self($0 + ".last", .wait($1, \.last))]
    }

    private static let signals: [(String, Path<Int>)] = [
        ("twoPointFour.weak", \.twoPointFour.weak), ("twoPointFour.critical", \.twoPointFour.critical),
        ("twoPointFour.minimumSignal", \.twoPointFour.minimumSignal), ("five.weak", \.five.weak),
        ("five.critical", \.five.critical), ("five.minimumSignal", \.five.minimumSignal),
    ]

    private static let decibels: [(String, Path<Int>)] = [
        ("recovery", \.recovery), ("returnHeadroom", \.returnHeadroom), ("rescanDrop", \.rescanDrop),
        ("unblockGain", \.unblockGain),
    ]

    private static let margins: [(String, Path<Int>)] = [("margin", \.margin), ("roamMargin", \.roamMargin)]

    private static let counts: [(String, Path<Int>)] = [
        ("switchLimit", \.switchLimit), ("roamLimit", \.roamLimit), ("scanShare", \.scanShare),
        ("weakScanShare", \.weakScanShare), ("wrongKeyStrikes", \.wrongKeyStrikes),
        ("transientStrikes", \.transientStrikes), ("noAddressStrikes", \.noAddressStrikes),
        ("validation.strikes", \.validationRules.strikes),
    ]

    private static let times: [(String, Path<Duration>)] = [
        ("commandPatience", \.commandPatience), ("stayAfterCommand", \.stayAfterCommand),
        ("betweenSwitches", \.betweenSwitches), ("spareGrace", \.spareGrace),
        ("switchLimitWindow", \.switchLimitWindow), ("movePrice", \.movePrice), ("lossPrice", \.lossPrice),
        ("shortLink", \.shortLink), ("reconnectWindow", \.reconnectWindow), ("patienceAfter", \.patienceAfter),
        ("patientFullScan", \.patientFullScan), ("scanReserve", \.scanReserve),
        ("scanInterval.unseenDelay", \.scanInterval.unseenDelay),
        ("addressLimitAfterLeaving", \.addressLimitAfterLeaving), ("usefulProbation", \.usefulProbation),
        ("freshness", \.freshness), ("reappearance", \.reappearance),
    ]

    private static let positiveTimes: [(String, Path<Duration>)] = [
        ("calmSampling", \.calmSampling), ("unsupervisedSampling", \.unsupervisedSampling),
        ("alertSampling", \.alertSampling), ("criticalSampling", \.criticalSampling),
        ("preferredConfirmation", \.preferredConfirmation), ("preferredWorth", \.preferredWorth),
        ("reconnectScan", \.reconnectScan), ("unverifiedLimit", \.unverifiedLimit), ("scanLimit", \.scanLimit),
        ("joinLimit", \.joinLimit), ("addressLimit", \.addressLimit), ("sleepSuspicion", \.sleepSuspicion),
        ("interfaceGrace", \.interfaceGrace),
    ]

    private static let validationTimes: [(String, Path<Duration>)] = [
        ("validation.interval", \.validationRules.interval), ("validation.retry", \.validationRules.retry),
        ("validation.limit", \.validationRules.limit), ("validation.doubtLimit", \.validationRules.doubtLimit),
        ("validation.signInLimit", \.validationRules.signInLimit),
    ]

    private static let waits: [(String, Path<BackOff>)] = [
        ("preferredScan", \.preferredScan), ("weakScan", \.weakScan), ("criticalScan", \.criticalScan),
        ("scanInterval.unseen", \.scanInterval.unseen), ("fullScan", \.fullScan),
        ("scanInterval.known", \.scanInterval.known), ("retry", \.retry), ("wrongKeyBlock", \.wrongKeyBlock),
        ("transientBlock", \.transientBlock), ("failedMoveBlock", \.failedMoveBlock), ("fullBlock", \.fullBlock),
        ("noAddressBlock", \.noAddressBlock), ("noInternetBlock", \.noInternetBlock), ("captiveBlock", \.captiveBlock),
        ("lastResort", \.lastResort),
    ]
}

extension PolicySettings {
    var isValidating: Bool {
        get { validation != nil }
        set { validation = newValue ? validationRules : nil }
    }

    /// The value of `validation` while it is on.
    fileprivate var validationRules: Validation {
        get { validation ?? Validation() }
        set { validation = newValue }
    }
}

extension PolicySettings: Codable {
    /// Reads an object with settings by their names; the others keep their defaults.
    /// - Throws: `DecodingError` for an unknown name or an invalid value.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        self.init()
        // In the order of `all`, because parts of `validation` count only once it is on. Recordings of format 6 have
        // old names as well.
        let members = try container.decode([String: String].self)
        var values = Dictionary(members.map { (PolicySetting.named($0.key)?.name ?? $0.key, $0.value) }) { $1 }
        for setting in PolicySetting.all {
            guard let value = values.removeValue(forKey: setting.name) else { continue }
            guard setting.set(value, in: &self) else {
                throw DecodingError.dataCorruptedError(
                    in: container, debugDescription: "\(setting.name) is not \(setting.form)")
            }
        }
        guard values.keys.allSatisfy(PolicySetting.isRemoved) else {
            throw DecodingError.dataCorruptedError(
                in: container, debugDescription: "not a setting of the policy")
        }
    }

    /// Every setting by its name, with the value that `PolicySetting.set` reads.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        let values = PolicySetting.all.compactMap { setting in setting.value(in: self).map { (setting.name, $0) } }
        try container.encode(Dictionary(values) { first, _ in first })
    }
}

/// A length of time as people write it: whole numbers with their units, the longest unit first, each at most once.
extension Duration {
    private static let units: [(name: String, milliseconds: Int64)] = [
        ("d", 86_400_000), ("h", 3_600_000), ("m", 60_000), ("s", 1000), ("ms", 1),
    ]
    private static let hundredYears = Duration.seconds(36_525 * 86_400)

    /// Reads `90s`, `1h30m`, `2s500ms`; nil for anything else, and beyond a hundred years.
    public init?(inUnits text: some StringProtocol) {
        guard !text.isEmpty else { return nil }
        var rest = text[...]
        var units = Self.units[...]
        var sum = Duration.zero
        while !rest.isEmpty {
            let digits = rest.prefix(while: \.isDecimalDigit)
            let unit = rest.dropFirst(digits.count).prefix { !$0.isDecimalDigit }
            guard digits.count <= 13, let number = Int64(digits),
                let index = units.firstIndex(where: { $0.name == unit })
            else { return nil }
            sum += .milliseconds(units[index].milliseconds) * number
            units = units[(index + 1)...]
            rest = rest.dropFirst(digits.count + unit.count)
        }
        guard sum <= Self.hundredYears else { return nil }
        self = sum
    }

    /// `1h30m`, to the millisecond.
    public var inUnits: String {
        var rest = milliseconds
        var text = ""
        for (name, length) in Self.units where rest >= length {
            text += "\(rest / length)\(name)"
            rest %= length
        }
        return text.isEmpty ? "0s" : text
    }

    /// `5400s` or `2500ms`.
    fileprivate var inOneUnit: String {
        milliseconds.isMultiple(of: 1000) ? "\(milliseconds / 1000)s" : "\(milliseconds)ms"
    }
}

extension Character {
    fileprivate var isDecimalDigit: Bool { isASCII && isNumber }
}
