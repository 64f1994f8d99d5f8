import Failover

extension World {
    /// Condition of a search in one span.
    enum Wanted {
        case never
        case always
        /// A signal below this level in dBm.
        case below(Double)
        /// A signal above this level in dBm.
        case above(Double)
    }

    /// Returns the first moment in `range` that fulfils the condition of its span.
    func firstMoment(of accessPoint: Int, in range: Range<Int64>, _ wanted: (Span) -> Wanted) -> Int64? {
        var moment = range.lowerBound
        while moment < range.upperBound {
            let span = span(of: accessPoint, at: moment)
            let found: Int64? =
                switch wanted(span) {
                case .never: nil
                case .always: moment
                case .below(let level):
                    span.lowest >= level
                        ? nil : firstMoment(of: accessPoint, in: span, from: moment, below: true, level)
                case .above(let level):
                    span.highest <= level
                        ? nil : firstMoment(of: accessPoint, in: span, from: moment, below: false, level)
                }
            if let found { return found < range.upperBound ? found : nil }
            moment = span.end
        }
        return nil
    }

    private func firstMoment(
        of accessPoint: Int, in span: Span, from start: Int64, below: Bool, _ level: Double
    ) -> Int64? {
        func isReached(_ signal: Double) -> Bool { below ? signal < level : signal > level }
        var moment = start
        while moment < span.end {
            let piece = piece(of: accessPoint, in: span, at: moment)
            if isReached(piece.signal(at: moment)) { return moment }
            if isReached(piece.signal(at: piece.end - 1)) {
                // Bisect, because the signal is linear in the piece.
                var (before, after) = (moment, piece.end - 1)
                while after - before > 1 {
                    let middle = (before + after) / 2
                    if isReached(piece.signal(at: middle)) { after = middle } else { before = middle }
                }
                return after
            }
            moment = piece.end
        }
        return nil
    }

    /// Returns the time lost in `range` by a joined device with an address, in milliseconds.
    /// - Parameter signedIn: whether a provider has signed the device in.
    func lostTime(of accessPoint: Int, in range: Range<Int64>, signedIn: Bool = false) -> Double {
        let loss = tracks[accessPoint].loss
        var lost = 0.0
        var moment = range.lowerBound
        while moment < range.upperBound {
            let span = span(of: accessPoint, at: moment)
            let end = min(span.end, range.upperBound)
            let bySignal: Double =
                if !span.isUseful(signedIn: signedIn) || span.highest <= loss.all {
                    Double(end - moment)
                } else if span.lowest >= loss.none {
                    0
                } else {
                    lostTime(of: accessPoint, in: span, moment..<end)
                }
            lost += span.interference * Double(end - moment) + (1 - span.interference) * bySignal
            moment = end
        }
        return lost
    }

    private func lostTime(of accessPoint: Int, in span: Span, _ range: Range<Int64>) -> Double {
        let loss = tracks[accessPoint].loss
        var lost = 0.0
        var moment = range.lowerBound
        while moment < range.upperBound {
            let piece = piece(of: accessPoint, in: span, at: moment)
            let end = min(piece.end, range.upperBound)
            lost += loss.meanShare(from: piece.signal(at: moment), to: piece.signal(at: end)) * Double(end - moment)
            moment = end
        }
        return lost
    }

    /// Finds the time at which a link breaks because the access point is off or not heard. The kernel misses beacons,
    /// probes the access point, and ends the link. After a power cut, the access point does not know its stations.
    /// - Parameter patience: range of the detection time, in milliseconds (`StackTiming.lossDetection`).
    /// - Returns: the time of the loss; if nil, continue the search from `searchedUntil`.
    func linkLoss(
        of accessPoint: Int, in range: Range<Int64>, patience: ClosedRange<Int64> = StackTiming().lossDetection
    ) -> (at: Int64?, end: LinkEnd, searchedUntil: Int64) {
        var from = range.lowerBound
        while let silence = firstSilence(of: accessPoint, in: from..<max(from, range.upperBound)) {
            let patience = noise(at: silence).number(.lossDetection, of: accessPoint, silence, in: patience)
            let end = silence + patience
            let isOff = firstMoment(of: accessPoint, in: silence..<end) { $0.state.isOn ? .never : .always }
            if let isOff {
                let isBack = firstMoment(of: accessPoint, in: isOff..<end) { $0.state.isOn ? .always : .never }
                return (isBack ?? end, isBack == nil ? .silence : .other, isBack ?? end)
            }
            guard let heard = firstSound(of: accessPoint, in: silence..<end) else {
                return (end, .silence, end)
            }
            from = heard
        }
        return (nil, .other, max(from, range.upperBound))
    }

    func firstSilence(of accessPoint: Int, in range: Range<Int64>) -> Int64? {
        firstMoment(of: accessPoint, in: range, absence(of: accessPoint))
    }

    func firstSound(of accessPoint: Int, in range: Range<Int64>) -> Int64? {
        firstMoment(of: accessPoint, in: range, presence(of: accessPoint))
    }

    private func absence(of accessPoint: Int) -> (Span) -> Wanted {
        let loss = tracks[accessPoint].loss
        return { span in
            guard span.state.isOn, span.interference < Self.deafness else { return .always }
            return .below(loss.signal(losing: span.bearableShare))
        }
    }

    private func presence(of accessPoint: Int) -> (Span) -> Wanted {
        let loss = tracks[accessPoint].loss
        return { span in
            guard span.state.isOn, span.interference < Self.deafness else { return .never }
            return .above(loss.signal(losing: span.bearableShare))
        }
    }

    /// Returns the times in `range` in which a joined device has no traffic.
    func outages(of accessPoint: Int, in range: Range<Int64>, signedIn: Bool = false) -> [Range<Int64>] {
        let all = tracks[accessPoint].loss.all
        var outages: [Range<Int64>] = []
        var from = range.lowerBound
        while let start = firstMoment(
            of: accessPoint, in: from..<range.upperBound,
            { $0.isUseful(signedIn: signedIn) ? .below(all) : .always })
        {
            let end = firstMoment(of: accessPoint, in: start..<range.upperBound) {
                $0.isUseful(signedIn: signedIn) ? .above(all) : .never
            }
            outages.append(start..<(end ?? range.upperBound))
            guard let end else { break }
            from = end
        }
        return outages
    }

    // MARK: Measurements

    /// Returns a link's signal from the driver, in dBm. It is the average of ten beacons in about a second. Averaging
    /// reduces fading to a third (one over the square root of ten).
    func averagedSignal(of accessPoint: Int, at moment: Int64) -> Int {
        measured(.averagedFading, of: accessPoint, at: moment, every: 1000, deviation: tracks[accessPoint].fading / 3)
    }

    /// Returns the signal of a single frame in dBm, as in a scan.
    func scannedSignal(of accessPoint: Int, at moment: Int64) -> Int {
        measured(.fading, of: accessPoint, at: moment, every: 100, deviation: tracks[accessPoint].fading)
    }

    private func measured(
        _ subject: Noise.Subject, of accessPoint: Int, at moment: Int64, every time: Int64, deviation: Double
    ) -> Int {
        var signal = signal(of: accessPoint, at: moment)
        if deviation > 0 {
            let share = noise(at: moment).share(subject, of: accessPoint, moment / time)
            signal += deviation * (2 * share - 1)
        }
        return Int(min(0, max(-127, signal)).rounded())
    }

    /// Whether a random event of this probability happens at this time, such as the arrival of a frame.
    func isLucky(_ subject: Noise.Subject, of accessPoint: Int, at moment: Int64, chance: Double) -> Bool {
        noise(at: moment).share(subject, of: accessPoint, moment) < chance
    }
}

extension World.Span {
    /// Maximum share of frames lost by signal, 0 to 1, with which the device still hears the access point.
    fileprivate var bearableShare: Double { 1 - (1 - World.deafness) / (1 - interference) }
}
