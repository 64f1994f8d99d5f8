import Failover

extension World {
    /// What a search waits for, in one span.
    enum Wanted {
        /// Not in this span.
        case never
        /// In all of this span.
        case always
        /// A signal below this, or above it, in dBm.
        case below(Double)
        case above(Double)
    }

    /// The first moment in `range` at which it is as `wanted` says of the span it lies in.
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
                // On a straight line: between the two moments, which differ as the level lies between their signals.
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

    /// Time in `range` that a device loses which is joined there and has an address, in milliseconds.
    /// - Parameter signedIn: whether somebody has signed in for it, where that is asked for.
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

    /// When a link made there breaks by itself, because the access point is off or cannot be heard: the kernel misses
    /// some beacons, asks, and declares the link lost. An access point that was switched off does not know its stations
    /// any more when it is back.
    ///
    /// - Parameter patience: how long that takes (`StackTiming.lossDetection`).
    /// - Returns: the moment, or nil and where to look on.
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

    /// The first moment at which an access point is off or cannot be heard.
    func firstSilence(of accessPoint: Int, in range: Range<Int64>) -> Int64? {
        firstMoment(of: accessPoint, in: range, absence(of: accessPoint))
    }

    /// The first moment at which it is on and can be heard.
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

    /// When nothing at all gets through in `range` to a device that is joined there.
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

    /// What the driver tells of the link: an average over about a second, some ten beacons, in which of quick fading a
    /// third is left (one over the square root of ten).
    func averagedSignal(of accessPoint: Int, at moment: Int64) -> Int {
        measured(.averagedFading, of: accessPoint, at: moment, every: 1000, deviation: tracks[accessPoint].fading / 3)
    }

    /// What a scan measures: a single frame.
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

    /// Whether something that needs frames to arrive works at this moment, by chance where some are lost.
    func isLucky(_ subject: Noise.Subject, of accessPoint: Int, at moment: Int64, chance: Double) -> Bool {
        noise(at: moment).share(subject, of: accessPoint, moment) < chance
    }
}

extension World.Span {
    /// The share that may be lost by signal before the access point cannot be heard any more.
    fileprivate var bearableShare: Double { 1 - (1 - World.deafness) / (1 - interference) }
}
