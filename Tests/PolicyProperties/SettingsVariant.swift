import Failover

/// Settings that the owner may change to while the policy runs.
package enum SettingsVariant: Hashable, Sendable, CaseIterable {
    case usual
    /// Slow attempts are given up early, and weak links are called so early.
    case hasty
    /// The other way round, with little air time for scans.
    case patient

    /// The policy leaves out the validation where it has none.
    package var settings: PolicySettings {
        var settings = PolicySettings()
        settings.validation = PolicySettings.Validation()
        switch self {
        case .usual: break
        case .hasty:
            settings.judge(
                .init(weak: -60, critical: -70, minimumSignal: -65),
                .init(weak: -66, critical: -72, minimumSignal: -67), margin: 4)
            settings.wait(command: 3, join: 6, address: 4)
            settings.validate(every: 10, strikes: 2)
            settings.addressLimitAfterLeaving = .seconds(3)
            settings.scanLimit = .seconds(10)
            settings.interfaceGrace = .seconds(5)
            settings.validation?.limit = .seconds(1)
            settings.validation?.signInLimit = .seconds(20)
        case .patient:
            settings.judge(
                .init(weak: -78, critical: -86, minimumSignal: -82),
                .init(weak: -80, critical: -86, minimumSignal: -82), margin: 12)
            settings.wait(command: 20, join: 30, address: 30)
            settings.validate(every: 60, strikes: 5)
            settings.scanShare = 1
            settings.weakScanShare = 10
            settings.scanReserve = .seconds(6)
            settings.validation?.retry = .seconds(3)
        }
        return settings
    }
}

extension PolicySettings {
    fileprivate mutating func judge(_ twoPointFour: Thresholds, _ five: Thresholds, margin: Int) {
        (self.twoPointFour, self.five, self.margin) = (twoPointFour, five, margin)
    }

    /// Limits in seconds.
    fileprivate mutating func wait(command: Int, join: Int, address: Int) {
        (commandPatience, joinLimit, addressLimit) = (.seconds(command), .seconds(join), .seconds(address))
    }

    /// - Parameter interval: in seconds.
    fileprivate mutating func validate(every interval: Int, strikes: Int) {
        validation?.interval = .seconds(interval)
        validation?.strikes = strikes
    }
}
