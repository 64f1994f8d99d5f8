import AgentModel
import Glibc

// Computes the signal between two changes. A run computes the next event instead of sampling, so it skips quiet time.
extension World {
    /// A period in which only an access point's signal can change.
    struct Span {
        let start: Int64
        let end: Int64
        let state: AccessPointState
        /// Share of frames lost regardless of the signal, 0 to 1.
        let interference: Double
        let mean: Mean
        /// Lower bound of the signal in the span, in dBm.
        let lowest: Double
        /// Upper bound of the signal in the span, in dBm.
        let highest: Double

        enum Mean {
            case line(Ramp)
            case path(Motion, from: Scenario.Point, atOneMetre: Double, exponent: Double)
        }

        var isUseful: Bool { isUseful(signedIn: false) }

        /// - Parameter signedIn: whether a provider has signed the device in.
        func isUseful(signedIn: Bool) -> Bool {
            state.isOn && (state.internet == .online || signedIn && state.internet == .captive) && state.hasToldKey
                && interference < 1
        }
    }

    /// A part of a span in which the signal is linear.
    struct Piece {
        let start: Int64
        let end: Int64
        let mean: Ramp
        let shadowing: Ramp

        func signal(at moment: Int64) -> Double { mean.value(at: moment) + shadowing.value(at: moment) }
    }

    /// Interval in which the path loss of a moving device is linear, in milliseconds.
    private static let pathStep: Int64 = 500

    func noise(at moment: Int64) -> Noise { Noise(seed: seed, pass: moment / passLength) }

    func span(of accessPoint: Int, at moment: Int64) -> Span {
        let track = tracks[accessPoint]
        let pass = moment - moment % passLength
        let local = moment - pass
        let state = track.states.step(at: local)
        var start = state.start
        var end = min(passLength, state.end)
        func narrow(to other: (start: Int64, end: Int64)) {
            start = max(start, other.start)
            end = min(end, other.end)
        }
        var loss = track.isInReach ? 0.0 : 1
        if track.isInReach, let steps = interference[track.frequency.megahertz] {
            let step = steps.step(at: local)
            loss = step.value
            narrow(to: (step.start, step.end))
        }
        let mean: Span.Mean
        switch track.place {
        case .levels(let levels):
            let step = levels.step(at: local)
            narrow(to: (step.start, step.end))
            mean = .line(step.value.shifted(by: pass))
        case .position(let point, let atOneMetre, let exponent):
            let step = motion.step(at: local)
            narrow(to: (step.start, step.end))
            if step.value.isStill {
                let level = Self.level(at: step.value.start, of: point, atOneMetre: atOneMetre, exponent: exponent)
                mean = .line(Ramp(origin: pass + step.start, value: level, slope: 0))
            } else {
                mean = .path(step.value, from: point, atOneMetre: atOneMetre, exponent: exponent)
            }
        }
        let deviation = track.shadowing * Noise.deviationLimit
        var bounds = (-Double.infinity, Double.infinity)
        if case .line(let line) = mean {
            let ends = (line.value(at: pass + start), line.value(at: pass + end))
            bounds = (min(ends.0, ends.1) - deviation, max(ends.0, ends.1) + deviation)
        }
        return Span(
            start: pass + start, end: pass + end, state: state.value, interference: loss, mean: mean,
            lowest: bounds.0, highest: bounds.1)
    }

    func piece(of accessPoint: Int, in span: Span, at moment: Int64) -> Piece {
        let track = tracks[accessPoint]
        let pass = moment - moment % passLength
        var start = span.start
        var end = span.end
        let mean: Ramp
        switch span.mean {
        case .line(let line): mean = line
        case .path(let motion, let point, let atOneMetre, let exponent):
            let step = (moment - pass - motion.origin) / Self.pathStep
            let first = motion.origin + step * Self.pathStep
            let levels = (first, first + Self.pathStep)
            let from = Self.level(
                at: motion.position(at: levels.0), of: point, atOneMetre: atOneMetre, exponent: exponent)
            let to = Self.level(
                at: motion.position(at: levels.1), of: point, atOneMetre: atOneMetre, exponent: exponent)
            mean = Ramp(origin: pass + first, value: from, slope: (to - from) / Double(Self.pathStep))
            start = max(start, pass + first)
            end = min(end, pass + first + Self.pathStep)
        }
        guard track.shadowing > 0 else {
            return Piece(start: start, end: end, mean: mean, shadowing: Ramp(origin: start, value: 0, slope: 0))
        }
        let knot = (moment - pass) / track.shadowingTime
        let origin = pass + knot * track.shadowingTime
        let noise = noise(at: moment)
        let from = track.shadowing * noise.deviation(.shadowing, of: accessPoint, knot)
        let to = track.shadowing * noise.deviation(.shadowing, of: accessPoint, knot + 1)
        return Piece(
            start: max(start, origin), end: min(end, origin + track.shadowingTime), mean: mean,
            shadowing: Ramp(origin: origin, value: from, slope: (to - from) / Double(track.shadowingTime)))
    }

    /// Returns the signal in dBm by distance. Distances below one metre count as one metre.
    private static func level(
        at position: Scenario.Point, of point: Scenario.Point, atOneMetre: Double, exponent: Double
    ) -> Double {
        let distance = hypot(position.x - point.x, position.y - point.y)
        return atOneMetre - 10 * exponent * log10(max(1, distance))
    }

    static func logarithm(of share: Double) -> Double { log(max(share, 1e-300)) }

    static func exponential(of sum: Double) -> Double { sum < -600 ? 0 : exp(sum) }

    func signal(of accessPoint: Int, at moment: Int64) -> Double {
        piece(of: accessPoint, in: span(of: accessPoint, at: moment), at: moment).signal(at: moment)
    }

    func loss(of accessPoint: Int, at moment: Int64) -> Double {
        let span = span(of: accessPoint, at: moment)
        guard span.state.isOn else { return 1 }
        let track = tracks[accessPoint]
        if span.lowest >= track.loss.none { return span.interference }
        let signal = piece(of: accessPoint, in: span, at: moment).signal(at: moment)
        return span.interference + (1 - span.interference) * track.loss.share(at: signal)
    }
}

extension Ramp {
    fileprivate func shifted(by time: Int64) -> Ramp { Ramp(origin: origin + time, value: value, slope: slope) }
}
