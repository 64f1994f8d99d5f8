import AgentModel
import FailoverPolicy

/// One setting of the policy, by the name it has in `PolicySettings`: `margin`, `five.weak`, `look.first`.
public struct PolicySetting: Sendable {
    public let name: String
    private let access: Access

    private enum Access: Sendable {
        case number(any WritableKeyPath<PolicySettings, Int> & Sendable)
        case duration(any WritableKeyPath<PolicySettings, Duration> & Sendable)
        /// A part of `validation`, which is made by setting it.
        case proofNumber(any WritableKeyPath<PolicySettings.Validation, Int> & Sendable)
        case proofDuration(any WritableKeyPath<PolicySettings.Validation, Duration> & Sendable)
    }

    private init(_ name: String, _ path: any WritableKeyPath<PolicySettings, Int> & Sendable) {
        self.init(name: name, access: .number(path))
    }

    private init(_ name: String, _ path: any WritableKeyPath<PolicySettings, Duration> & Sendable) {
        self.init(name: name, access: .duration(path))
    }

    private init(name: String, access: Access) {
        self.name = name
        self.access = access
    }

    /// The value as `set` reads it; nil where `validation` is off.
    public func value(in settings: PolicySettings) -> String? {
        switch access {
        case .number(let path): settings[keyPath: path].word
        case .duration(let path): settings[keyPath: path].word
        case .proofNumber(let path): settings.validation?[keyPath: path].word
        case .proofDuration(let path): settings.validation?[keyPath: path].word
        }
    }

    /// - Returns: what a value has to be if `text` is none; nil if it is set.
    public func set(_ text: some StringProtocol, in settings: inout PolicySettings) -> String? {
        let word = Substring(text)
        switch access {
        case .number(let path):
            // Nothing that the policy counts or compares comes near this.
            guard let number = Int(word: word), (-100_000...100_000).contains(number) else { return Int.form }
            settings[keyPath: path] = number
        case .duration(let path):
            guard let duration = Duration(word: word) else { return Duration.form }
            settings[keyPath: path] = duration
        case .proofNumber(let path):
            guard let number = Int(word: word), (0...100_000).contains(number) else { return Int.form }
            settings.validation = settings.validation ?? PolicySettings.Validation()
            settings.validation?[keyPath: path] = number
        case .proofDuration(let path):
            guard let duration = Duration(word: word) else { return Duration.form }
            settings.validation = settings.validation ?? PolicySettings.Validation()
            settings.validation?[keyPath: path] = duration
        }
        return nil
    }

    public static func named(_ name: some StringProtocol) -> PolicySetting? { all.first { $0.name == name } }

    /// Every setting there is: one that was left out could make a replay decide otherwise for no reason that it knows.
    public static let all: [PolicySetting] = [
        thresholds("twoPointFour", \.twoPointFour.weak, \.twoPointFour.critical, \.twoPointFour.floor),
        thresholds("five", \.five.weak, \.five.critical, \.five.floor),
        numbers,
        durations,
        backOff("preferredLook", \.preferredLook.first, \.preferredLook.last),
        backOff("preferredConfirmation", \.preferredConfirmation.first, \.preferredConfirmation.last),
        backOff("weakScan", \.weakScan.first, \.weakScan.last),
        backOff("criticalScan", \.criticalScan.first, \.criticalScan.last),
        backOff("survey", \.survey.first, \.survey.last),
        backOff("fullScan", \.fullScan.first, \.fullScan.last),
        backOff("look", \.look.first, \.look.last),
        backOff("wrongKeyBlock", \.wrongKeyBlock.first, \.wrongKeyBlock.last),
        backOff("transientBlock", \.transientBlock.first, \.transientBlock.last),
        backOff("fullBlock", \.fullBlock.first, \.fullBlock.last),
        backOff("noAddressBlock", \.noAddressBlock.first, \.noAddressBlock.last),
        backOff("noInternetBlock", \.noInternetBlock.first, \.noInternetBlock.last),
        backOff("captiveBlock", \.captiveBlock.first, \.captiveBlock.last),
        backOff("lastResort", \.lastResort.first, \.lastResort.last),
        [
            PolicySetting(name: "validation.interval", access: .proofDuration(\.interval)),
            PolicySetting(name: "validation.retry", access: .proofDuration(\.retry)),
            PolicySetting(name: "validation.strikes", access: .proofNumber(\.strikes)),
            PolicySetting(name: "validation.limit", access: .proofDuration(\.limit)),
        ],
    ].flatMap(\.self)

    private static let numbers = [
        PolicySetting("margin", \.margin),
        PolicySetting("lookAgainDrop", \.lookAgainDrop),
        PolicySetting("recovery", \.recovery),
        PolicySetting("confirmationSamples", \.confirmationSamples),
        PolicySetting("switchLimit", \.switchLimit),
        PolicySetting("dampingStep", \.dampingStep),
        PolicySetting("dampingLimit", \.dampingLimit),
        PolicySetting("returnHeadroom", \.returnHeadroom),
        PolicySetting("scanShare", \.scanShare),
        PolicySetting("weakScanShare", \.weakScanShare),
        PolicySetting("wrongKeyStrikes", \.wrongKeyStrikes),
        PolicySetting("transientStrikes", \.transientStrikes),
        PolicySetting("noAddressStrikes", \.noAddressStrikes),
        PolicySetting("unblockGain", \.unblockGain),
    ]

    private static let durations = [
        PolicySetting("criticalConfirmation", \.criticalConfirmation),
        PolicySetting("weakConfirmation", \.weakConfirmation),
        PolicySetting("fadingHorizon", \.fadingHorizon),
        PolicySetting("calmSampling", \.calmSampling),
        PolicySetting("unsupervisedSampling", \.unsupervisedSampling),
        PolicySetting("alertSampling", \.alertSampling),
        PolicySetting("criticalSampling", \.criticalSampling),
        PolicySetting("commandPatience", \.commandPatience),
        PolicySetting("stayAfterCommand", \.stayAfterCommand),
        PolicySetting("betweenSwitches", \.betweenSwitches),
        PolicySetting("switchLimitWindow", \.switchLimitWindow),
        PolicySetting("dampingWindow", \.dampingWindow),
        PolicySetting("preferredProbation", \.preferredProbation),
        PolicySetting("scanReserve", \.scanReserve),
        PolicySetting("surveyDelay", \.surveyDelay),
        PolicySetting("scanLimit", \.scanLimit),
        PolicySetting("joinLimit", \.joinLimit),
        PolicySetting("addressLimit", \.addressLimit),
        PolicySetting("addressLimitAfterLeaving", \.addressLimitAfterLeaving),
        PolicySetting("usefulProbation", \.usefulProbation),
        PolicySetting("freshness", \.freshness),
        PolicySetting("reappearance", \.reappearance),
        PolicySetting("sleepSuspicion", \.sleepSuspicion),
        PolicySetting("interfaceGrace", \.interfaceGrace),
    ]

    private static func thresholds(
        _ band: String, _ weak: any WritableKeyPath<PolicySettings, Int> & Sendable,
        _ critical: any WritableKeyPath<PolicySettings, Int> & Sendable,
        _ floor: any WritableKeyPath<PolicySettings, Int> & Sendable
    ) -> [PolicySetting] {
        [
            PolicySetting("\(band).weak", weak), PolicySetting("\(band).critical", critical),
            PolicySetting("\(band).floor", floor),
        ]
    }

    private static func backOff(
        _ name: String, _ first: any WritableKeyPath<PolicySettings, Duration> & Sendable,
        _ last: any WritableKeyPath<PolicySettings, Duration> & Sendable
    ) -> [PolicySetting] {
        [PolicySetting("\(name).first", first), PolicySetting("\(name).last", last)]
    }
}
