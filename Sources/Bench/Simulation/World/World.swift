import AgentModel

/// Access points and signals of a scenario as a pure function of scenario, seed and time. The device has no influence.
///
/// Times are milliseconds since the start of the run. A longer run repeats the scenario in passes, each with its own
/// noise.
///
/// The signal at the device is mean + shadowing + fading. The mean is fixed, a ramp, or path loss by distance.
/// Shadowing is a nearly normal deviation at each multiple of `shadowingTime`, linear in between. Fading is one value
/// per 100 ms and affects only measurements. Weak signals (`FrameLoss`) and interference cause lost frames.
public final class World: Sendable {
    public let scenario: Scenario
    public let seed: UInt64
    /// Length of a pass in milliseconds.
    let passLength: Int64
    let tracks: [Track]
    let motion: Steps<Motion>
    /// Share of frames lost to interference over time, 0 to 1, by frequency in MHz. Undisturbed ones are missing.
    let interference: [Int: Steps<Double>]
    /// Whether the device needs Wi-Fi: it is awake, and no other uplink carries its traffic.
    let demand: Steps<Bool>
    let happenings: [Scenario.Happening]

    public init(_ scenario: Scenario, seed: UInt64) {
        self.scenario = scenario
        self.seed = seed
        passLength = max(1, scenario.duration.milliseconds)
        happenings = scenario.happenings.filter { $0.at >= .zero && $0.at < scenario.duration }
            .enumerated().sorted { ($0.element.at, $0.offset) < ($1.element.at, $1.offset) }.map(\.element)
        motion = Self.motion(of: scenario, happenings)
        interference = Self.interference(in: scenario, happenings)
        demand = Self.demand(happenings)
        tracks = Self.tracks(of: scenario, happenings)
    }

    struct Track: Sendable {
        let bssid: BSSID
        let ssid: SSID
        let frequency: Frequency
        let loss: FrameLoss
        /// Index in the scenario of the device's network with this SSID; nil if the device has none.
        let network: Int?
        let isHidden: Bool
        let isInReach: Bool
        let states: Steps<AccessPointState>
        let place: Placement
        /// Standard deviation of the shadowing in dB.
        let shadowing: Double
        /// Correlation time of the shadowing in milliseconds.
        let shadowingTime: Int64
        /// Standard deviation of the fading in dB.
        let fading: Double

        enum Placement: Sendable {
            case levels(Steps<Ramp>)
            case position(Scenario.Point, atOneMetre: Double, exponent: Double)
        }
    }

    public var accessPoints: Range<Int> { tracks.indices }

    public func bssid(of accessPoint: Int) -> BSSID { tracks[accessPoint].bssid }

    /// Returns the index of the access point's network in the scenario; nil if the device does not know the network.
    public func network(of accessPoint: Int) -> Int? { tracks[accessPoint].network }

    public func state(of accessPoint: Int, at time: Duration) -> AccessPointState {
        span(of: accessPoint, at: time.milliseconds).state
    }

    /// Returns the signal at the device without fading, in dBm, even if the access point is off.
    public func signal(of accessPoint: Int, at time: Duration) -> Double {
        signal(of: accessPoint, at: time.milliseconds)
    }

    /// Returns the share of frames lost by signal and interference, 0 to 1. It is 1 while the access point is off or
    /// the device does not support its band.
    public func loss(of accessPoint: Int, at time: Duration) -> Double {
        loss(of: accessPoint, at: time.milliseconds)
    }

    /// Returns the delivered share of a joined device's traffic, 0 to 1. It is 0 without internet access and before a
    /// sign-in.
    public func quality(of accessPoint: Int, at time: Duration) -> Double {
        let span = span(of: accessPoint, at: time.milliseconds)
        return span.isUseful ? 1 - loss(of: accessPoint, at: time.milliseconds) : 0
    }

    /// Whether a device could join now and get an address: the access point is heard, not full, and accepts the
    /// password.
    public func isJoinable(_ accessPoint: Int, at time: Duration) -> Bool {
        let state = state(of: accessPoint, at: time)
        return state.admission == .admitted && !state.isFull && state.addressTime != nil
            && loss(of: accessPoint, at: time) < Self.deafness
    }

    /// Whether lost time counts: the device is awake and depends on Wi-Fi.
    public func isInDemand(at time: Duration) -> Bool {
        demand.step(at: time.milliseconds % passLength).value
    }

    /// Returns the time until which `quality`, `isJoinable` and `isInDemand` stay constant; `time` while the quality
    /// changes.
    public func steadyUntil(of accessPoint: Int, from time: Duration) -> Duration {
        let moment = time.milliseconds
        let span = span(of: accessPoint, at: moment)
        let loss = tracks[accessPoint].loss
        let pass = moment - moment % passLength
        let demandEnd = demand.step(at: moment - pass).end
        let end = min(span.end, demandEnd == .max ? .max : pass + demandEnd)
        let isSteady = !span.state.isOn || span.lowest >= loss.none || span.highest <= loss.all
        if isSteady { return .milliseconds(end) }
        let piece = piece(of: accessPoint, in: span, at: moment)
        let levels = (piece.signal(at: piece.start), piece.signal(at: piece.end))
        let isSteadyPiece =
            min(levels.0, levels.1) >= loss.none || max(levels.0, levels.1) <= loss.all || levels.0 == levels.1
        return isSteadyPiece ? .milliseconds(min(end, piece.end)) : time
    }

    /// Share of lost frames above which links break and joins fail.
    public static let deafness = 0.95
}

public struct AccessPointState: Sendable, Hashable {
    public internal(set) var isOn: Bool
    public internal(set) var internet: Scenario.AccessPoint.Internet
    /// Time from the association to an address; nil if the access point gives out none.
    public internal(set) var addressTime: Duration?
    public internal(set) var isFull: Bool
    /// How the access point treats the device's current credentials.
    public internal(set) var admission: Admission
    /// Number of the access point's password. Links end when it changes.
    var key: Key
    /// Whether the device has had this password during the pass, so that a link can exist.
    var hasToldKey: Bool

    typealias Key = Int

    public enum Admission: Sendable, Hashable {
        case admitted
        case wrongPassword
        /// The device knows no network with this SSID and security.
        case notKnown
    }
}

/// Share of traffic lost by signal after all retries: 0 at `none` and above, 1 at `all` and below, linear in between.
///
/// The levels are assumptions, because the lab's simulated radios lose no frames by signal. The lowest rates of real
/// receivers end between -88 and -92 dBm. About 12 dB above, retries repair all losses. On 5 GHz both levels are 2 dB
/// higher because of wider channels.
public struct FrameLoss: Sendable, Hashable {
    /// Lowest signal without lost frames, in dBm.
    public let none: Double
    /// Highest signal at which all frames are lost, in dBm.
    public let all: Double

    public init(on frequency: Frequency) {
        (none, all) = frequency.band == .twoPointFour ? (-78, -90) : (-76, -88)
    }

    /// Returns the lost share, 0 to 1, for a signal in dBm.
    public func share(at signal: Double) -> Double { min(1, max(0, (none - signal) / (none - all))) }

    /// Returns the signal in dBm at which this share is lost.
    func signal(losing share: Double) -> Double { none - share * (none - all) }

    /// Returns the mean lost share while the signal changes linearly.
    func meanShare(from start: Double, to end: Double) -> Double {
        // Rounding errors would dominate the quotient of small differences.
        guard abs(end - start) > 1e-3 else { return share(at: (start + end) / 2) }
        return (area(above: end) - area(above: start)) / (start - end)
    }

    /// Returns the integral of the lost share over all signals above this one.
    private func area(above signal: Double) -> Double {
        if signal >= none { return 0 }
        if signal >= all { return (none - signal) * (none - signal) / (2 * (none - all)) }
        return (none - all) / 2 + all - signal
    }
}
