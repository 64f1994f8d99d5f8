import AgentModel

/// One setting of the policy, by the name it has in `PolicySettings`: `margin`, `five.weak`,
/// `scanInterval.known.first`. Records, scenarios and `altnet-lab replay --set` have the same names and values.
public struct PolicySetting: Sendable {
    public typealias Path<Value> = WritableKeyPath<PolicySettings, Value> & Sendable

    public let name: String
    private let access: Access

    private enum Access: Sendable {
        case isOn(Path<Bool>)
        case number(Quantity, Path<Int>)
        case duration(Path<Duration>)
        /// Parts of `validation`, which is on as soon as one of them is set.
        case validationNumber(Path<Int>)
        case validationDuration(Path<Duration>)
        /// The setting has no effect any more.
        case removed
    }

    enum Quantity: Sendable {
        case signal, decibels, count
    }

    private init(_ name: String, _ access: Access) {
        self.name = name
        self.access = access
    }

    static func isOn(_ name: String, _ path: Path<Bool>) -> Self { Self(name, .isOn(path)) }

    static func number(_ name: String, _ quantity: Quantity, _ path: Path<Int>) -> Self {
        Self(name, .number(quantity, path))
    }

    static func duration(_ name: String, _ path: Path<Duration>) -> Self { Self(name, .duration(path)) }

    static func validationNumber(_ name: String, _ path: Path<Int>) -> Self { Self(name, .validationNumber(path)) }

    static func validationDuration(_ name: String, _ path: Path<Duration>) -> Self {
        Self(name, .validationDuration(path))
    }

    /// The setting with this name, or with a name that it had in the version before.
    public static func named(_ name: some StringProtocol) -> PolicySetting? {
        let name = presentName(of: name) ?? String(name)
        return all.first { $0.name == name } ?? (isRemoved(name) ? Self(name, .removed) : nil)
    }

    /// A sentence for the user of a setting of the version before; nil for any other name.
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
        "dampingWindow",
        "dampingLimit", "lossLimit", "lossWindow",
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
        case "strangerLimit": "unprovenLimit"
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
        case .duration: "a time with its unit, such as 30s or 1h30m"
        case .validationNumber: Quantity.count.form
        case .validationDuration: "a time of at least 1ms, such as 30s"
        case .removed: "a value"
        }
    }

    /// The value as `set` reads it; nil for a part of `validation` where that is off.
    public func value(in settings: PolicySettings) -> String? {
        switch access {
        case .isOn(let path): settings[keyPath: path] ? "on" : "off"
        case .number(_, let path): "\(settings[keyPath: path])"
        case .duration(let path): settings[keyPath: path].inOneUnit
        case .validationNumber(let path): settings.isValidating ? "\(settings[keyPath: path])" : nil
        case .validationDuration(let path): settings.isValidating ? settings[keyPath: path].inOneUnit : nil
        case .removed: nil
        }
    }

    /// Whether the values of several settings agree is for `PolicySettings.contradiction` to say.
    /// - Parameter text: `10`, `10dB`, `-70`, `-70dBm`, `90s`, `1h30m`, `on`.
    /// - Returns: false where `text` is no such value, and nothing is set then.
    public func set(_ text: some StringProtocol, in settings: inout PolicySettings) -> Bool {
        switch access {
        case .isOn(let path): assign(["on": true, "off": false][String(text)], to: path, in: &settings)
        case .number(let quantity, let path): assign(quantity.number(text), to: path, in: &settings)
        case .duration(let path): assign(Duration(inUnits: text), to: path, in: &settings)
        case .validationNumber(let path): assign(Quantity.count.number(text), to: path, in: &settings)
        case .validationDuration(let path):
            assign(Duration(inUnits: text).flatMap { $0 > .zero ? $0 : nil }, to: path, in: &settings)
        case .removed: !text.isEmpty
        }
    }

    private func assign<Value>(_ value: Value?, to path: Path<Value>, in settings: inout PolicySettings) -> Bool {
        guard let value else { return false }
        settings[keyPath: path] = value
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

    /// The unit may be left out.
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
    /// Every setting there is: one that was left out could make a replay decide otherwise for no reason that it knows.
    public static let all: [PolicySetting] = [
        thresholds("twoPointFour", \.twoPointFour.weak, \.twoPointFour.critical, \.twoPointFour.minimumSignal),
        thresholds("five", \.five.weak, \.five.critical, \.five.minimumSignal),
        decibels,
        counts,
        durations,
        [.isOn("returnsToPreferred", \.returnsToPreferred), .isOn("keepsStandby", \.keepsStandby)],
        backOff("preferredScan", \.preferredScan.first, \.preferredScan.last),
        backOff("preferredConfirmation", \.preferredConfirmation.first, \.preferredConfirmation.last),
        backOff("weakScan", \.weakScan.first, \.weakScan.last),
        backOff("criticalScan", \.criticalScan.first, \.criticalScan.last),
        backOff("scanInterval.unseen", \.scanInterval.unseen.first, \.scanInterval.unseen.last),
        backOff("fullScan", \.fullScan.first, \.fullScan.last),
        backOff("scanInterval.known", \.scanInterval.known.first, \.scanInterval.known.last),
        backOff("retry", \.retry.first, \.retry.last),
        backOff("wrongKeyBlock", \.wrongKeyBlock.first, \.wrongKeyBlock.last),
        backOff("transientBlock", \.transientBlock.first, \.transientBlock.last),
        backOff("failedMoveBlock", \.failedMoveBlock.first, \.failedMoveBlock.last),
        backOff("fullBlock", \.fullBlock.first, \.fullBlock.last),
        backOff("noAddressBlock", \.noAddressBlock.first, \.noAddressBlock.last),
        backOff("noInternetBlock", \.noInternetBlock.first, \.noInternetBlock.last),
        backOff("captiveBlock", \.captiveBlock.first, \.captiveBlock.last),
        backOff("lastResort", \.lastResort.first, \.lastResort.last),
        validation,
    ].flatMap(\.self)

    private static let decibels: [PolicySetting] = [
        .number("margin", .decibels, \.margin),
        .number("roamMargin", .decibels, \.roamMargin),
        .number("recovery", .decibels, \.recovery),
        .number("returnHeadroom", .decibels, \.returnHeadroom),
        .number("rescanDrop", .decibels, \.rescanDrop),
        .number("unblockGain", .decibels, \.unblockGain),
    ]

    private static let counts: [PolicySetting] = [
        .number("switchLimit", .count, \.switchLimit),
        .number("roamLimit", .count, \.roamLimit),
        .number("scanShare", .count, \.scanShare),
        .number("weakScanShare", .count, \.weakScanShare),
        .number("wrongKeyStrikes", .count, \.wrongKeyStrikes),
        .number("transientStrikes", .count, \.transientStrikes),
        .number("noAddressStrikes", .count, \.noAddressStrikes),
    ]

    private static let durations: [PolicySetting] = [
        .duration("calmSampling", \.calmSampling),
        .duration("unsupervisedSampling", \.unsupervisedSampling),
        .duration("alertSampling", \.alertSampling),
        .duration("criticalSampling", \.criticalSampling),
        .duration("commandPatience", \.commandPatience),
        .duration("stayAfterCommand", \.stayAfterCommand),
        .duration("betweenSwitches", \.betweenSwitches),
        .duration("spareGrace", \.spareGrace),
        .duration("switchLimitWindow", \.switchLimitWindow),
        .duration("preferredProbation", \.preferredProbation),
        .duration("movePrice", \.movePrice),
        .duration("lossPrice", \.lossPrice),
        .duration("preferredWorth", \.preferredWorth),
        .duration("shortLink", \.shortLink),
        .duration("reconnectWindow", \.reconnectWindow),
        .duration("reconnectScan", \.reconnectScan),
        .duration("unprovenLimit", \.unprovenLimit),
        .duration("patienceAfter", \.patienceAfter),
        .duration("patientFullScan", \.patientFullScan),
        .duration("scanReserve", \.scanReserve),
        .duration("scanInterval.unseenDelay", \.scanInterval.unseenDelay),
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
        .validationDuration("validation.interval", \.validationRules.interval),
        .validationDuration("validation.retry", \.validationRules.retry),
        .validationNumber("validation.strikes", \.validationRules.strikes),
        .validationDuration("validation.limit", \.validationRules.limit),
        .validationDuration("validation.doubtLimit", \.validationRules.doubtLimit),
        .validationDuration("validation.signInLimit", \.validationRules.signInLimit),
    ]

    private static func thresholds(
        _ band: String, _ weak: Path<Int>, _ critical: Path<Int>, _ minimumSignal: Path<Int>
    ) -> [PolicySetting] {
        [
            .number("\(band).weak", .signal, weak), .number("\(band).critical", .signal, critical),
            .number("\(band).minimumSignal", .signal, minimumSignal),
        ]
    }

    private static func backOff(_ name: String, _ first: Path<Duration>, _ last: Path<Duration>) -> [PolicySetting] {
        [.duration("\(name).first", first), .duration("\(name).last", last)]
    }
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
    /// Reads an object with settings by their names; the others are as they come.
    /// - Throws: `DecodingError` for a name or a value that is none.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        self.init()
        // In their order, for the parts of `validation` count only once it is on.
        // Recordings of format 6 have old names as well.
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
