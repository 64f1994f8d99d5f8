import AgentModel

/// A decision of the policy, with what it knew at the time.
public struct PolicyDecision: Hashable, Sendable, Codable {
    public let at: Instant
    public let kind: Kind
    public let from: SSID?
    public let to: SSID?
    /// The access point that was left or kept, and the one that was chosen.
    public let fromBSSID: BSSID?
    public let toBSSID: BSSID?
    public let cause: Cause
    /// Signal of the link that was left or kept, in dBm, where there was one.
    public let signal: Int?
    /// Every known network, best first, with its verdict.
    public let considered: [Consideration]
    /// Why the move is worth it; nil where the device had no link, or no choice.
    public let costs: Costs?

    /// The costs that a living link is left for. Records of earlier versions have none.
    public struct Costs: Hashable, Sendable, Codable {
        /// Cost of an hour on the link, and at the access point that is joined, in seconds of outage.
        public let here: Int
        public let there: Int
        /// Cost of staying so far; on a return, expected cost of staying away. In milliseconds of outage.
        public let staying: Int
        /// Price of the move in milliseconds of outage.
        public let price: Int

        /// - Parameters:
        ///   - here: cost of a second on the link, in seconds of outage.
        ///   - there: cost of a second at the other access point, in seconds of outage.
        ///   - staying: in seconds of outage.
        ///   - price: in seconds of outage.
        init(here: Double, there: Double, staying: Double, price: Double) {
            // Whole numbers, for `OutsideJSON` reads no others.
            func whole(_ number: Double) -> Int { Int(min(number, 1e12).rounded()) }
            (self.here, self.there) = (whole(here * 3600), whole(there * 3600))
            (self.staying, self.price) = (whole(staying * 1000), whole(price * 1000))
        }
    }

    public init(
        at: Instant, kind: Kind, from: SSID?, to: SSID?, fromBSSID: BSSID?, toBSSID: BSSID?, cause: Cause,
        signal: Int?, considered: [Consideration], costs: Costs? = nil
    ) {
        self.at = at
        self.kind = kind
        self.from = from
        self.to = to
        self.fromBSSID = fromBSSID
        self.toBSSID = toBSSID
        self.cause = cause
        self.signal = signal
        self.considered = considered
        self.costs = costs
    }

    public enum Kind: String, Sendable, CaseIterable, Codable {
        /// The device sets out to join a network, or another access point of the one it is in.
        case join
        /// The network has address and route: the device is online.
        case online
        /// The link is gone.
        case lost
        /// A join did not work.
        case failed
        /// A network is left alone for a while.
        case blocked
        /// Nothing in range can be joined now; the search goes on.
        case search
        /// The link is bad, and nothing better is in range.
        case stay
        /// Link and address are there, but the network has no internet access.
        case unusable
        /// A network has internet access again.
        case usable
        /// The device sets out to join a network beside the one in use, to stand by.
        case standby
    }

    public enum Cause: Hashable, Sendable, Codable {
        case start
        case linkFound
        case linkLost
        case weak
        /// The link is getting weaker so fast that it will soon be critical.
        case fading
        case critical
        /// Frames are lost at any signal: interference on the channel.
        case congested
        /// Its access point has announced the end of the link, or asks the device to move.
        case steered
        /// Access points have asked the device to move too often.
        case steeredTooOften
        /// The network that the device belongs in is back.
        case preferred
        /// The network in use may be lost.
        case standby
        case commanded
        case rollback
        case retry
        case lastResort
        case failure(JoinFailure)
        case noCandidate
        case interfaceDown
        case supplicantUnavailable

        // The names in a record.
        private enum CodingKeys: String, CodingKey {
            case start, linkFound, linkLost, weak, fading, critical, steered, steeredTooOften, preferred, standby
            case commanded, rollback, retry, lastResort, failure, noCandidate, interfaceDown, supplicantUnavailable
            case congested = "jammed"
        }
        private enum FailureCodingKeys: String, CodingKey { case _0 = "failure" }
    }

    public struct Consideration: Hashable, Sendable, Codable {
        public let ssid: SSID
        public let bss: BSS?
        public let verdict: Verdict

        public init(ssid: SSID, bss: BSS?, verdict: Verdict) {
            self.ssid = ssid
            self.bss = bss
            self.verdict = verdict
        }
    }

    public enum Verdict: Hashable, Sendable, Codable {
        case chosen
        case current
        /// Good enough, but another one ranks higher.
        case outranked
        case notSeen
        /// Only refused access points with its name are in range.
        case refused(JoinFailure)
        /// Its signal is below `minimumSignal`.
        case belowFloor
        /// Its gain over the current link, in dB, is too small.
        case withinMargin(Int)
        case blocked(JoinFailure, until: Instant)
        /// It has no internet access, and is not tried again before this time.
        case unusable(JoinFailure, until: Instant)

        private enum RefusedCodingKeys: String, CodingKey { case _0 = "failure" }
        private enum WithinMarginCodingKeys: String, CodingKey { case _0 = "missing" }
        private enum BlockedCodingKeys: String, CodingKey { case _0 = "failure", until }
        private enum UnusableCodingKeys: String, CodingKey { case _0 = "failure", until }
    }
}

extension PolicyDecision {
    /// The decision and its reason, in one sentence for a user, without a full stop.
    public var text: String {
        let from = from?.description ?? "nothing"
        let to = to?.description ?? "nothing"
        let why = cause.explanation(signal: kind == .stay ? nil : signal)
        let sentence =
            switch kind {
            case .join where self.from == self.to && self.to != nil:
                "moving to \(toBSSID.map { "the access point \($0)" } ?? "another access point") of \(to): \(why)"
            case .join where cause.isFailure && self.from != nil: "joining \(to) instead of \(from): \(why)"
            case .join: "joining \(to): \(why)"
            case .online: cause == .linkFound ? "online on \(to): \(why)" : "online on \(to)"
            case .lost: cause == .linkLost ? "\(from) is lost" : "\(from) is lost: \(why)"
            case .failed: "\(from) could not be joined: \(why)"
            case .blocked: "\(from) is blocked for a while: \(why)"
            case .search: "no network to join in range\(refusals), still searching"
            case .stay: "staying on \(from)\(signal.map { " at \($0) dBm" } ?? ""): \(why)"
            case .unusable: "\(from) is unusable: \(why)"
            case .usable: "\(to) is usable again"
            case .standby: "joining \(to) beside \(from): \(why)"
            }
        guard let costs else { return sentence }
        let (staying, price) = (Self.tenths(costs.staying), Self.tenths(costs.price))
        return """
            \(sentence) (an hour costs \(costs.here) s here and \(costs.there) s there; staying \
            \(cause == .preferred ? "will cost" : "has cost") \(staying) s, and the move costs \(price) s)
            """
    }
}

extension PolicyDecision {
    /// - Returns: seconds with one digit after the point.
    private static func tenths(_ milliseconds: Int) -> Double { (Double(milliseconds) / 100).rounded() / 10 }

    /// The access points that bear a network's name and are refused.
    private var refusals: String {
        let refusals = considered.compactMap { candidate -> String? in
            guard case .refused(let failure) = candidate.verdict else { return nil }
            return "\(candidate.ssid): \(failure.sentence)"
        }
        return refusals.isEmpty ? "" : " (\(refusals.joined(separator: "; ")))"
    }
}

extension PolicyDecision.Cause {
    fileprivate var isFailure: Bool { if case .failure = self { true } else { false } }

    /// The reason, as the end of a sentence.
    /// - Parameter signal: signal in dBm; nil to leave it out.
    fileprivate func explanation(signal: Int?) -> String {
        let level = signal.map { " at \($0) dBm" } ?? ""
        return switch self {
        case .start: "nothing was joined yet"
        case .linkFound: "the link was there already"
        case .linkLost: "the link was lost"
        case .weak: "the link was weak\(level)"
        case .fading: "the link was fading fast\(level)"
        case .congested: "interference on the link's channel\(level)"
        case .critical: "the link was about to break\(level)"
        case .steered: "its access point asked the device to move"
        case .steeredTooOften: "access points have asked the device to move three times within ten minutes"
        case .preferred: "the preferred network is back"
        case .standby: "the network in use may be lost"
        case .commanded: "as commanded"
        case .rollback: "rolling back a failed switch"
        case .retry: "another attempt"
        case .lastResort: "blocked, but nothing else is in range"
        case .failure(let failure): failure.sentence
        case .noCandidate: "nothing better is in range"
        case .interfaceDown: "the interface went down"
        case .supplicantUnavailable: "wpa_supplicant is not running"
        }
    }
}

extension JoinFailure {
    /// The event, for a user, as the end of a sentence.
    public var sentence: String {
        switch self {
        case .wrongKey: "the password was not accepted"
        case .accessPointFull: "the access point is full"
        case .notFound: "not in range"
        case .lessSecure:
            "an access point with its name is less secure than before; if the router changed, send the password again"
        case .unsupportedSecurity:
            "an access point with its name has unsupported security; set the router to WPA3, or to WPA2 with AES"
        case .rejected: "the access point refused the device"
        case .certificateRefused: "the server's certificate has the wrong authority, name or dates"
        case .timeout: "no answer in time"
        case .linkLost: "the link broke before it was ready"
        case .noAddress: "no address and route in time"
        case .captive: "it requires a sign-in"
        case .noInternet: "no internet access"
        case .unconfirmed: "the app did not confirm it in time"
        case .interrupted: "interrupted by a restart"
        case .supplicantUnavailable: "wpa_supplicant is not running"
        case .interfaceDown: "the interface is down"
        }
    }
}
