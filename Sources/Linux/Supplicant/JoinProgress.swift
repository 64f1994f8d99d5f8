import AgentModel

/// How far a join has come since wpa_supplicant was told to select the network, told by its events alone.
///
/// wpa_supplicant would go on trying by itself. Here the first failure ends the attempt: whether and when to try again
/// is the policy's decision.
struct JoinProgress: Sendable, Equatable {
    /// wpa_supplicant's number of the network.
    let network: Int
    /// The access point, where the link that is there goes over to it; nil for any.
    let target: BSSID?
    private var phase = Phase.searching
    private var scanStarted = false

    /// The meaning of an event for the join.
    enum Step: Sendable, Equatable {
        case succeeded(BSSID)
        case failed(JoinFailure)
        /// wpa_supplicant tells nothing when the access point leaves its frames unanswered, but starts to scan again.
        /// So may any other program: whether it still authenticates must be asked.
        case askWhetherAuthenticating
    }

    private enum Phase: Equatable {
        case searching
        /// `rounds` frames of the authentication went out.
        case authenticating(rounds: Int)
        case associating
        case associated
    }

    init(network: Int, target: BSSID? = nil) { (self.network, self.target) = (network, target) }

    /// Whether a link of this network to this access point is the one that is being made.
    func isMade(network: Int?, _ bssid: BSSID) -> Bool {
        (network == nil || network == self.network) && (target == nil || target == bssid)
    }

    /// Whether nothing has been sent to the access point yet: the link from before is as it was.
    var isSearching: Bool { phase == .searching }

    mutating func handle(_ event: ControlEvent) -> Step? {
        switch event {
        case .scanStarted:
            scanStarted = true
            return phase == .searching || phase == .associated ? nil : .askWhetherAuthenticating
        case .networkNotFound:
            // Results from before the selection can belong to a scan of other frequencies.
            return scanStarted ? .failed(.notFound) : nil
        case .authenticating:
            phase = .authenticating(rounds: authenticationRounds + 1)
            return nil
        case .associating:
            phase = .associating
            return nil
        case .associated:
            phase = .associated
            return nil
        case .connected(let network, let bssid):
            return isMade(network: network, bssid) ? .succeeded(bssid) : nil
        case .authenticationRejected(let refusal):
            return .failed(Self.failure(of: refusal))
        case .associationRejected(let status, let timedOut):
            return .failed(timedOut ? .timeout : Self.failure(ofStatus: status))
        case .authenticationTimedOut:
            return .failed(.timeout)
        case .disconnected(let reason, let locallyGenerated):
            return disconnected(reason: reason, locallyGenerated: locallyGenerated)
        case .temporarilyDisabled(network, let reason):
            return .failed(Self.failure(of: reason))
        case .certificateRefused:
            return .failed(.certificateRefused)
        case .userRefused:
            return .failed(.wrongKey)
        case .temporarilyDisabled, .transitionDisabled, .leavingAsked, .moveAsked, .neighbour, .accessPointEnabled,
            .accessPointDisabled,
            .accessPointFailed, .stationJoined, .stationLeft, .easyConnect, .other:
            return nil
        }
    }

    /// The failure behind the end of an authentication that wpa_supplicant did not explain. An access point that
    /// answers the first round of SAE and not the second did not accept the proof of the password.
    var silentFailure: JoinFailure { authenticationRounds > 1 ? .wrongKey : .timeout }

    /// A failure whose cause wpa_supplicant names in the next line: an access point that does not hear the proof of a
    /// password ends the link first.
    static func refined(_ failure: JoinFailure, by event: ControlEvent, network: Int) -> JoinFailure {
        switch event {
        case .temporarilyDisabled(network, .wrongKey): .wrongKey
        case .certificateRefused: .certificateRefused
        // It follows a certificate that was refused as well.
        case .userRefused where failure != .certificateRefused: .wrongKey
        default: failure
        }
    }

    private var authenticationRounds: Int {
        if case .authenticating(let rounds) = phase { rounds } else { 0 }
    }

    private func disconnected(reason: Int, locallyGenerated: Bool) -> Step? {
        switch phase {
        case .searching: nil
        case .authenticating, .associating: .failed(locallyGenerated ? .timeout : .rejected)
        case .associated: .failed(Self.failure(ofReason: reason))
        }
    }

    private static func failure(ofReason reason: Int) -> JoinFailure {
        switch reason {
        case accessPointBusy: .accessPointFull
        case userRefused: .wrongKey
        default: .linkLost
        }
    }

    /// Reason 5: the access point cannot handle all stations that are associated (IEEE 802.11-2020, table 9-49).
    private static let accessPointBusy = 5
    /// Reason 23: IEEE 802.1X failed.
    private static let userRefused = 23

    private static func failure(of refusal: ControlEvent.Authentication) -> JoinFailure {
        // Status 15 is a failed challenge. Some access points say 1, unspecified, to a wrong proof of the password,
        // which is what the second transaction of SAE carries (IEEE 802.11-2020, 12.4.7.6).
        switch (refusal.algorithm, refusal.transaction, refusal.status) {
        case (ControlEvent.Authentication.sae, _, 15), (ControlEvent.Authentication.sae, 2, 1): .wrongKey
        case (_, _, let status): failure(ofStatus: status)
        }
    }

    /// Status codes of IEEE 802.11-2020, table 9-50.
    private static func failure(ofStatus status: Int) -> JoinFailure {
        switch status {
        case 16: .timeout  // No answer in the middle of a sequence.
        case 17, 33: .accessPointFull  // No more stations; not enough bandwidth for another.
        default: .rejected
        }
    }

    private static func failure(of reason: ControlEvent.DisabledReason) -> JoinFailure {
        switch reason {
        case .wrongKey: .wrongKey
        case .connectionFailed: .timeout
        case .other: .rejected
        }
    }
}
