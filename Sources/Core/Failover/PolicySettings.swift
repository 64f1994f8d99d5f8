import AgentModel

/// Thresholds and times of the policy. `Docs/reference/policy-settings.md` lists them with the sources of the
/// defaults.
public struct PolicySettings: Hashable, Sendable {
    /// Signal thresholds in dBm; the same signal is worth less on 2.4 GHz, where more of it is noise.
    public struct Thresholds: Hashable, Sendable {
        /// Below this the link is weak, and a better network is looked for.
        public var weak: Int
        /// Below this the link is about to break.
        public var critical: Int
        /// A living link is not left for a network below this.
        public var minimumSignal: Int

        public init(weak: Int, critical: Int, minimumSignal: Int) {
            self.weak = weak
            self.critical = critical
            self.minimumSignal = minimumSignal
        }
    }

    public var twoPointFour = Thresholds(weak: -70, critical: -80, minimumSignal: -80)
    public var five = Thresholds(weak: -76, critical: -82, minimumSignal: -77)

    /// How much stronger than the current link another network must be to be worth the switch, in dB.
    public var margin = 8
    /// The margin in dB while the link loses frames: 1 dB is a twelfth of them.
    public var roamMargin = 2
    /// A weak link is fine again when it is this many dB above weak.
    public var recovery = 2

    /// Intervals of signal samples: on a fine link that the kernel watches, where the kernel cannot watch, on a link in
    /// trouble, and on one that is about to break.
    public var calmSampling = Duration.seconds(10)
    public var unsupervisedSampling = Duration.seconds(10)
    public var alertSampling = Duration.milliseconds(2500)
    public var criticalSampling = Duration.milliseconds(1000)

    /// A link that has been weak for this long, with nothing better in range, is measured and scanned for less often.
    public var patienceAfter = Duration.seconds(300)

    /// How long a command waits for wpa_supplicant and the interface, which may be starting as well.
    public var commandPatience = Duration.seconds(10)
    /// After a commanded switch a living link is not left by the policy's own decision for this long.
    public var stayAfterCommand = Duration.seconds(600)
    /// A living link is not left again sooner than this after the last switch.
    public var betweenSwitches = Duration.seconds(10)
    /// Within `switchLimitWindow` at most `switchLimit` living links are left for another network, and `roamLimit` for
    /// another access point of the same one, which keeps address and connections.
    public var switchLimit = 6
    public var roamLimit = 12
    public var switchLimitWindow = Duration.seconds(240)

    /// Whether the device returns automatically to its preferred network.
    public var returnsToPreferred = true
    /// Whether another network stands by wherever one can.
    public var keepsStandby = false
    /// How long a link stays after it was left for one beside it.
    public var spareGrace = Duration.seconds(30)
    /// Interval of scans for the preferred network while the device is not in it: `first` at the beginning, growing
    /// with time, at most `last`.
    public var preferredScan = BackOff(first: .seconds(4), last: .seconds(60))
    /// The device returns to the preferred network when scans found it good for this long.
    public var preferredConfirmation = Duration.seconds(30)
    /// The preferred network is good this many dB above weak.
    public var returnHeadroom = 6
    /// Costs beside the time without a link, as the time of an outage: connections that end with a move, and the time
    /// until a loss is noticed. `preferredWorth` away from a good preferred network costs a second of outage.
    public var movePrice = Duration.milliseconds(500)
    public var lossPrice = Duration.milliseconds(800)
    public var preferredWorth = Duration.seconds(600)

    /// Probes of networks that are up; nil if nothing can be probed.
    public var validation: Validation?

    /// When to probe a link, and how many failures mean that it has no internet access.
    public struct Validation: Hashable, Sendable {
        /// Time from an answer to the next probe, while all is well.
        public var interval = Duration.seconds(30)
        /// Time from probe to probe after a failure, if the answer does not take longer.
        public var retry = Duration.seconds(1)
        /// Failures among the last five probes that suffice. A doubt counts as one.
        public var strikes = 3
        /// A probe that has not ended after this has failed; a working one takes a tenth of a second.
        public var limit = Duration.seconds(3)
        /// Limit of a probe while the link is doubted: the doubt has waited for an answer already.
        public var doubtLimit = Duration.seconds(2)
        /// How long the verdict on a login page waits for a sign-in.
        public var signInLimit = Duration.seconds(60)

        public init() {}
    }

    /// The wait before a failed network is tried again if there is nothing else to join, and after a link that lasted
    /// for less than `shortLink`.
    public var retry = BackOff(first: .seconds(1), last: .seconds(5))
    public var shortLink = Duration.seconds(2)
    /// A network that had no internet access is trusted again after it has had it for this long.
    public var usefulProbation = Duration.seconds(3600)

    /// The share of air time that scans may take in the long run, in thousandths: on a good link and on a weak one; and
    /// how much of it may be saved up for a moment of need.
    public var scanShare = 5
    public var weakScanShare = 200
    public var scanReserve = Duration.seconds(40)

    /// Scans on a weak link: the first wait, doubling up to the last; and on one that is about to break.
    public var weakScan = BackOff(first: .seconds(20), last: .seconds(160))
    public var criticalScan = BackOff(first: .seconds(5), last: .seconds(10))
    /// A weak link is scanned for again when it is this many dB weaker than at the last scan.
    public var rescanDrop = 3
    public var scanInterval = ScanInterval()
    /// How often to scan.
    public struct ScanInterval: Hashable, Sendable {
        /// Channels of known networks while disconnected: `first` at the beginning, growing with the outage, at most
        /// `last`.
        public var known = BackOff(first: .seconds(1), last: .seconds(10))
        /// All channels on a good link, for networks and access points never seen: the waits after the first such scan,
        /// which slows the link for some seconds.
        public var unseen = BackOff(first: .seconds(120), last: .seconds(6 * 3600))
        /// Time from coming online to the first such scan.
        public var unseenDelay = Duration.seconds(2)

        public init() {}
    }

    /// Scans of all channels while disconnected.
    public var fullScan = BackOff(first: .seconds(10), last: .seconds(30))
    /// Interval of full scans after an hour, and where another uplink carries the traffic.
    public var patientFullScan = Duration.seconds(300)
    /// Time after a loss in which known channels are scanned every `reconnectScan`, and all channels not at all.
    public var reconnectWindow = Duration.milliseconds(1500)
    public var reconnectScan = Duration.milliseconds(250)
    /// A scan that has not ended after this is given up.
    public var scanLimit = Duration.seconds(60)

    /// Limit from the order to join until the access point has let the device in.
    public var joinLimit = Duration.seconds(20)
    /// Join limit for an unverified access point, and for a join without a scan.
    public var unverifiedLimit = Duration.seconds(6)
    /// Limit from there until there are an address and a route.
    public var addressLimit = Duration.seconds(15)
    /// Upper bound of `addressLimit` after a living link was given up. dhcpcd with its defaults takes 6 to 7 s.
    public var addressLimitAfterLeaving = Duration.seconds(10)
    /// A network seen longer ago than this is looked for again before it is joined.
    public var freshness = Duration.seconds(10)

    /// A network that failed is left alone this long, doubling with every further failure.
    public var wrongKeyBlock = BackOff(first: .seconds(300), last: .seconds(640 * 60))
    public var transientBlock = BackOff(first: .seconds(10), last: .seconds(300))
    public var fullBlock = BackOff(first: .seconds(30), last: .seconds(300))
    public var noAddressBlock = BackOff(first: .seconds(10), last: .seconds(300))
    /// A network without internet access, or with a login page, is tried again after this.
    public var noInternetBlock = BackOff(first: .seconds(300), last: .seconds(7200))
    public var captiveBlock = BackOff(first: .seconds(600), last: .seconds(7200))
    /// A network that a living link was given up for in vain is tried again after this.
    public var failedMoveBlock = BackOff(first: .seconds(60), last: .seconds(7200))
    /// How many failures of a kind in a row it takes to block a network.
    public var wrongKeyStrikes = 2
    public var transientStrikes = 3
    public var noAddressStrikes = 2
    /// A block made for a transient failure ends early when the network is this many dB stronger than it was then.
    public var unblockGain = 5
    /// A network that scans did not find for this long gets another chance when it is back, whatever it did.
    public var reappearance = Duration.seconds(20)
    /// If all networks in range are blocked, the one tried longest ago is tried anyway, at these intervals.
    public var lastResort = BackOff(first: .seconds(30), last: .seconds(300))

    /// A wake-up later than this means that the machine slept.
    public var sleepSuspicion = Duration.seconds(60)
    /// An interface that another program took down is brought up again after this.
    public var interfaceGrace = Duration.seconds(30)

    public init() {}

    /// - Parameter frequency: nil counts as 2.4 GHz.
    public func thresholds(for frequency: Frequency?) -> Thresholds {
        frequency.map { $0.band != .twoPointFour } ?? false ? five : twoPointFour
    }
}

extension PolicySettings {
    /// Two settings that cannot both be meant, or one that makes no sense.
    public struct Contradiction: Error, Hashable, Sendable, CustomStringConvertible {
        /// The setting's name in `PolicySettings`: `twoPointFour.weak`.
        public let setting: String
        /// The problem: `is -80, not above critical, which is -70`.
        public let problem: String

        public var description: String { "\(setting) \(problem)" }
    }

    /// Settings of which one bounds the others.
    public enum Pair: Hashable, Sendable, CaseIterable {
        /// `weak`, `critical` and `minimumSignal` of a band.
        case signal2G, signal5G
        /// `validation.doubtLimit` and `validation.limit`.
        case validationLimit
    }

    /// The first contradiction among the settings; nil if there is none.
    public var contradiction: Contradiction? {
        Pair.allCases.lazy.compactMap { contradiction(in: $0) }.first
            ?? PolicySetting.all.lazy.compactMap { $0.contradiction(in: self) }.first ?? contradictionOfNumbers
    }

    /// The conflict between two settings; nil if they agree.
    public func contradiction(in pair: Pair) -> Contradiction? {
        switch pair {
        case .signal2G: contradiction(in: twoPointFour, of: "twoPointFour")
        case .signal5G: contradiction(in: five, of: "five")
        case .validationLimit where validation.map { $0.doubtLimit > $0.limit } ?? false:
            Contradiction(setting: "validation.doubtLimit", problem: "is longer than validation.limit")
        case .validationLimit: nil
        }
    }

    private func contradiction(in thresholds: Thresholds, of band: String) -> Contradiction? {
        let others = [("critical", thresholds.critical), ("minimumSignal", thresholds.minimumSignal)]
        return others.first { thresholds.weak <= $0.1 }.map {
            Contradiction(
                setting: "\(band).weak", problem: "is \(thresholds.weak), not above \($0.0), which is \($0.1)")
        }
    }

    private var contradictionOfNumbers: Contradiction? {
        if let strikes = validation?.strikes, strikes > LinkValidation.lookBack {
            return Contradiction(
                setting: "validation.strikes",
                problem: "is \(strikes), and only the last \(LinkValidation.lookBack) probes count")
        }
        if weakScanShare < scanShare {
            return Contradiction(setting: "weakScanShare", problem: "is less than scanShare, the share of a good link")
        }
        guard scanReserve < ScanBudget.firstFullScan else { return nil }
        return Contradiction(setting: "scanReserve", problem: "is too short for one scan of all channels")
    }
}
