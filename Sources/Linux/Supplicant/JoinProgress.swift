import AgentModel

/// Progress of a join after the network's selection, derived from events. wpa_supplicant would retry without end. Here,
/// the first failure ends the attempt, and the policy decides on retries.
struct JoinProgress: Sendable, Equatable {
    let network: Int
    /// Target of a roam; nil for any access point.
    let target: BSSID?
    private var phase = Phase.searching
    private var scanStarted = false

    enum Effect: Sendable, Equatable {
        case succeeded(BSSID)
        case failed(JoinFailure)
        /// wpa_supplicant does not report unanswered authentication frames but starts a scan. Other programs may scan,
        /// too, so the caller must ask for wpa_supplicant's state.
        case askWhetherAuthenticating
    }

    private enum Phase: Equatable {
        case searching
        /// Number of authentication frames sent.
        case authenticating(rounds: Int)
        case associating
        case associated
    }

    init(network: Int, target: BSSID? = nil) { (self.network, self.target) = (network, target) }

    /// True if a link of this network to this access point completes the join.
    func isMade(network: Int?, _ bssid: BSSID) -> Bool {
        (network == nil || network == self.network) && (target == nil || target == bssid)
    }

    /// True if no frame was sent to the access point yet. The old link is then unchanged.
    var isSearching: Bool { phase == .searching }

    mutating func handle(_ event: ControlEvent) -> Effect? {
        switch event {
        case .scanStarted:
            scanStarted = true
            return phase == .searching || phase == .associated ? nil : .askWhetherAuthenticating
        case .networkNotFound:
            // Earlier results may belong to a scan of other frequencies.
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
        case .temporarilyDisabled, .transitionDisabled, .disassociationImminent, .transitionRequested, .neighbour,
            .accessPointEnabled,
            .accessPointDisabled,
            .accessPointFailed, .stationJoined, .stationLeft, .easyConnect, .other:
            return nil
        }
    }

    /// Failure of an authentication that wpa_supplicant did not explain. An access point that answers only the first
    /// round of SAE has rejected the password.
    var silentFailure: JoinFailure { authenticationRounds > 1 ? .wrongKey : .timeout }

    /// Returns a more precise failure if a later line names the cause. An access point that gets a wrong password ends
    /// the link before that line.
    static func refined(_ failure: JoinFailure, by event: ControlEvent, network: Int) -> JoinFailure {
        switch event {
        case .temporarilyDisabled(network, .wrongKey): .wrongKey
        case .certificateRefused: .certificateRefused
        // This event also follows a rejected certificate.
        case .userRefused where failure != .certificateRefused: .wrongKey
        default: failure
        }
    }

    private var authenticationRounds: Int {
        if case .authenticating(let rounds) = phase { rounds } else { 0 }
    }

    private func disconnected(reason: Int, locallyGenerated: Bool) -> Effect? {
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

    /// Reason code 5: too many associated stations (IEEE 802.11-2020, table 9-49).
    private static let accessPointBusy = 5
    /// Reason code 23: IEEE 802.1X failed.
    private static let userRefused = 23

    private static func failure(of refusal: ControlEvent.Authentication) -> JoinFailure {
        // Status 15 is a failed challenge. Some access points send status 1 (unspecified) after the second transaction
        // of SAE, which proves the password (IEEE 802.11-2020, 12.4.7.6).
        switch (refusal.algorithm, refusal.transaction, refusal.status) {
        case (ControlEvent.Authentication.sae, _, 15), (ControlEvent.Authentication.sae, 2, 1): .wrongKey
        case (_, _, let status): failure(ofStatus: status)
        }
    }

    /// Returns the failure of a status code (IEEE 802.11-2020, table 9-50).
    private static func failure(ofStatus status: Int) -> JoinFailure {
        switch status {
        case 16: .timeout  // The sequence of frames timed out.
        case 17, 33: .accessPointFull  // Too many stations; too little bandwidth.
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
