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
            settings.twoPointFour = .init(weak: -60, critical: -70, floor: -65)
            settings.five = .init(weak: -66, critical: -72, floor: -67)
            settings.margin = 4
            settings.commandPatience = .seconds(3)
            settings.joinLimit = .seconds(6)
            settings.addressLimit = .seconds(4)
            settings.addressLimitAfterLeaving = .seconds(3)
            settings.scanLimit = .seconds(10)
            settings.interfaceGrace = .seconds(5)
            settings.validation?.interval = .seconds(10)
            settings.validation?.limit = .seconds(1)
            settings.validation?.strikes = 2
            settings.validation?.signInLimit = .seconds(20)
        case .patient:
            settings.twoPointFour = .init(weak: -78, critical: -86, floor: -82)
            settings.five = .init(weak: -80, critical: -86, floor: -82)
            settings.margin = 12
            settings.commandPatience = .seconds(20)
            settings.joinLimit = .seconds(30)
            settings.addressLimit = .seconds(30)
            settings.scanShare = 1
            settings.weakScanShare = 10
            settings.scanReserve = .seconds(6)
            settings.validation?.interval = .seconds(60)
            settings.validation?.retry = .seconds(3)
            settings.validation?.strikes = 5
        }
        return settings
    }
}
