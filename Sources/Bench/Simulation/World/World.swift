import AgentModel
import Failover

/// The air of a scenario, as a pure function of the scenario, a seed and time: whatever a device does, it meets the
/// same.
///
/// Times count from the beginning of the run, in milliseconds. A run that is longer than the scenario is a series of
/// passes; each begins as the scenario does, with noise of its own.
///
/// The model of the signal at the device is mean (fixed, on a ramp, or path loss by distance) + shadowing (a nearly
/// normal deviation at every multiple of `shadowingTime`, and a straight line in between) + fading (one number for
/// every 100 ms, in single measurements only). Frames are lost by `FrameLoss`, combined with interference.
public final class World: Sendable {
    public let scenario: Scenario
    public let seed: UInt64
    /// The length of a pass in milliseconds.
    let passLength: Int64
    let tracks: [Track]
    let motion: Steps<Motion>
    /// By frequency in MHz; none where nothing ever interferes.
    let interference: [Int: Steps<Double>]
    /// Whether the device needs Wi-Fi: it is awake, and nothing else carries its traffic.
    let demand: Steps<Bool>
    /// Of one pass, in the order of time.
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

    /// What is known of an access point beforehand.
    struct Track: Sendable {
        let bssid: BSSID
        let ssid: SSID
        let frequency: Frequency
        let loss: FrameLoss
        /// Index in the scenario's networks of the one that the device takes it for; nil if it knows none by this name.
        let network: Int?
        let isHidden: Bool
        let isInReach: Bool
        let states: Steps<AccessPointState>
        let place: Place
        /// In dB.
        let shadowing: Double
        /// In milliseconds.
        let shadowingTime: Int64
        /// In dB.
        let fading: Double

        enum Place: Sendable {
            case levels(Steps<Line>)
            case position(Scenario.Point, atOneMetre: Double, exponent: Double)
        }
    }

    public var accessPoints: Range<Int> { tracks.indices }

    public func bssid(of accessPoint: Int) -> BSSID { tracks[accessPoint].bssid }

    /// Index in the scenario's networks of the one that the device takes the access point for.
    public func network(of accessPoint: Int) -> Int? { tracks[accessPoint].network }

    public func state(of accessPoint: Int, at time: Duration) -> AccessPointState {
        span(of: accessPoint, at: time.milliseconds).state
    }

    /// The signal at the device without quick fading, in dBm; what it would be where the access point is off.
    public func signal(of accessPoint: Int, at time: Duration) -> Double {
        signal(of: accessPoint, at: time.milliseconds)
    }

    /// The share of frames lost by signal and interference, 0 to 1; 1 while the access point is off or the device has
    /// no radio for its band.
    public func loss(of accessPoint: Int, at time: Duration) -> Double {
        loss(of: accessPoint, at: time.milliseconds)
    }

    /// The share of its traffic that a device gets through which is joined there and has an address, 0 to 1. Nothing
    /// gets through without internet, and before a login.
    public func quality(of accessPoint: Int, at time: Duration) -> Double {
        let span = span(of: accessPoint, at: time.milliseconds)
        return span.isUseful ? 1 - loss(of: accessPoint, at: time.milliseconds) : 0
    }

    /// Whether a device that sets out now could join there and get an address, with luck: the access point can be
    /// heard.
    public func isJoinable(_ accessPoint: Int, at time: Duration) -> Bool {
        let state = state(of: accessPoint, at: time)
        return state.admission == .admitted && !state.isFull && state.addressTime != nil
            && loss(of: accessPoint, at: time) < Self.deafness
    }

    /// Whether lost time counts: the device is awake, and Wi-Fi is its only way out.
    public func isInDemand(at time: Duration) -> Bool {
        demand.step(at: time.milliseconds % passLength).value
    }

    /// Until when `quality`, `isJoinable` and `isInDemand` surely stay as they are at `time`; `time` itself while the
    /// quality is changing.
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

    /// A link on which this share of frames is lost breaks, and none can be made.
    public static let deafness = 0.95
}

/// What an access point does at a moment, apart from its signal.
public struct AccessPointState: Sendable, Hashable {
    public internal(set) var isOn: Bool
    public internal(set) var internet: Scenario.AccessPoint.Internet
    /// From the association until there is an address; nil where none is given out.
    public internal(set) var addressTime: Duration?
    public internal(set) var isFull: Bool
    /// Whether it lets the device in with what the device knows of its network at that moment.
    public internal(set) var admission: Admission
    /// Stands for its password: where it changes, every link ends.
    var key: Key
    /// Whether a link may exist: the device was told this password at some time in the pass.
    var hasToldKey: Bool

    /// Passwords are told apart, and nothing else is done with them.
    typealias Key = Int

    public enum Admission: Sendable, Hashable {
        case admitted
        case wrongPassword
        /// The device knows no network by this name with such a security.
        case notKnown
    }
}

/// The share of traffic that a signal loses after all repetitions: nothing at `none` and above, everything at `all` and
/// below, evenly in between.
///
/// An assumption, for the lab's simulated radios lose nothing by signal: the lowest rates of real receivers end between
/// -88 and -92 dBm, and at a dozen dB more nothing is lost that repetition does not mend. On 5 GHz, where channels are
/// wider, both ends are 2 dB higher.
public struct FrameLoss: Sendable, Hashable {
    /// In dBm.
    public let none: Double
    public let all: Double

    public init(on frequency: Frequency) {
        (none, all) = frequency.band == .twoPointFour ? (-78, -90) : (-76, -88)
    }

    /// From 0 to 1.
    public func share(at signal: Double) -> Double { min(1, max(0, (none - signal) / (none - all))) }

    /// The signal at which this share is lost, in dBm.
    func signal(losing share: Double) -> Double { none - share * (none - all) }

    /// The share lost in the mean while the signal goes from one level to another at an even pace.
    func meanShare(from start: Double, to end: Double) -> Double {
        // Divided by nearly nothing, the difference of two areas would be all rounding.
        guard abs(end - start) > 1e-3 else { return share(at: (start + end) / 2) }
        return (area(above: end) - area(above: start)) / (start - end)
    }

    /// The integral of the share over the signal, from this signal upwards.
    private func area(above signal: Double) -> Double {
        if signal >= none { return 0 }
        if signal >= all { return (none - signal) * (none - signal) / (2 * (none - all)) }
        return (none - all) / 2 + all - signal
    }
}
